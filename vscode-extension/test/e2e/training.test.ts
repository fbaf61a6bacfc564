/**
 * What goes wrong in a training besides NaN: a tick, a stop, and the numbers behind it; then
 * breakpoints on its modules and on what writes to its parameters.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examples } from "./harness/places.ts";
import { lineOf as marked, program } from "./harness/programs.ts";
import { story } from "./harness/story.ts";
import { escaped, exactly } from "./harness/workbench.ts";

const PROGRAM = "deep_cnn.py";
const BREAKS = "breaks.py";
const editor = story({ name: "training", files: [join(examples, PROGRAM), program(BREAKS)] });

function lineOf(text: string): number {
  const lines = readFileSync(join(examples, PROGRAM), "utf8").split("\n");
  return lines.findIndex((line) => line.includes(text)) + 1;
}

test("ticked, Vanishing gradient stops the training and blames the line that calls the layers", async () => {
  await editor().debug.start(PROGRAM);
  await editor().debug.showView();
  expect(await editor().debug.filter("Vanishing gradient").getAttribute("aria-checked")).toBe("false");
  await editor().debug.tick("Vanishing gradient");
  await editor().debug.stop();
  await editor().debug.start(PROGRAM);
  await editor().debug.stoppedAt(PROGRAM, lineOf("loss.backward()"), "loss.backward()");
  const said = await editor().debug.exception();
  expect(said).toContain("Exception has occurred: Vanishing gradient");
  expect(said).toMatch(/features\.0\.weight\s+rms/);
  expect(said).toContain("kaiming_normal_");
  await editor().screenshot("vanishing");
});

test("the finding shows its numbers, and leads to the line to blame", async () => {
  const { workbench } = editor();
  await workbench.showZenTracer();
  const row = workbench.viewRow("Findings", "Vanishing gradient");
  await row.click();
  await workbench.cursorAt(lineOf("self.head(self.features(images)")).waitFor();
  await row.locator(".monaco-tl-twistie").click();
  await workbench.reach("Findings", /^Evidence/);
  await editor().screenshot("evidence");
});

test("Break in Module stops before it runs, with its tensors and what the line is about", async () => {
  const { debug, workbench, page } = editor();
  await debug.stop();
  await debug.toggleBreakpoint(BREAKS, marked(BREAKS, "backward"));
  await workbench.command("ZenTracer: Debug Python File with ZenTracer");
  await debug.showView();
  await debug.stoppedAt(BREAKS, marked(BREAKS, "backward"));
  for (let time = 0; time < 2; time++) {
    await page.keyboard.press("F1");
    await workbench.input.fill(">ZenTracer: Break in Module…");
    await workbench.row("ZenTracer: Break in Module…").click();
    await workbench.row("fc").click();
    await workbench.row("Before it runs").click();
    await workbench.notification("The program stops before fc runs.").first().waitFor();
  }
  expect(await (await debug.breakpoint("module:fc")).count()).toBe(1);
  await debug.continue();
  await debug.stoppedAt(BREAKS, marked(BREAKS, "fc"));
  expect(await debug.behind("self.fc(x).relu()")).toBe("fc (Linear) is about to run (forward, step 1)");
  for (const scope of ["Tensors", "Module"]) {
    const row = page.locator(".debug-variables .monaco-list-row", { hasText: exactly(scope) });
    await row.waitFor();
  }
  await editor().screenshot("module");
});

test("Break on Value Change stops where the optimizer writes, and says what it did", async () => {
  const { debug, workbench, page } = editor();
  await workbench.quickInput("F1", ">Remove All Breakpoints", "Remove All Breakpoints");
  await page.locator(".debug-call-stack .monaco-list-row", { hasText: "train" }).first().click();
  await workbench.contextMenu(await debug.variable("weight"), "Break When NaN");
  await workbench.notification("weight gets a NaN").waitFor();
  await workbench.contextMenu(await debug.variable("weight"), "Break on Value Change");
  await debug.breakpoint(/^weight/);
  await debug.continue();
  await debug.stoppedAt(BREAKS, marked(BREAKS, "step"));
  const badge = await page.locator(".call-stack-state-message").innerText();
  expect(badge).toMatch(new RegExp(`^${escaped("weight changed by SGD.step")}.*% of its norm`));
  expect(await debug.behind("optimizer.step()")).toBe(badge);
  await editor().screenshot("change");
});

test("the view has the hits; Break When NaN stops at the line that writes it", async () => {
  const { debug, workbench } = editor();
  await workbench.showZenTracer();
  await workbench.viewRow("Tensor Breakpoints", /weight.*×1.*when it changes/s).waitFor();
  await workbench.quickInput("F1", ">Remove All Breakpoints", "Remove All Breakpoints");
  await debug.continue();
  await debug.showView();
  await debug.stoppedAt(BREAKS, marked(BREAKS, "write"));
  await workbench.showZenTracer();
  const row = workbench.viewRow("Tensor Breakpoints", /weight.*×1.*if nan > 0/s);
  await row.waitFor();
  await editor().screenshot("nan");
  await row.hover();
  await row.locator(".codicon-close").click();
  await row.waitFor({ state: "detached" });
});
