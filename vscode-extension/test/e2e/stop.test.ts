/** F5 on an example: where it stops, and what a user sees then. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examples } from "./harness/places.ts";
import { story } from "./harness/story.ts";

const PROGRAM = "nan_contrastive.py";
const SENTENCE = "NaN in gradient made by SqrtBackward0 in ContrastiveLoss (backward, step 163)";
const editor = story({ name: "stop", files: [join(examples, PROGRAM)] });

function lineOf(text: string): number {
  const lines = readFileSync(join(examples, PROGRAM), "utf8").split("\n");
  return lines.findIndex((line) => line.includes(text)) + 1;
}

test("F5 without a launch.json stops at the line that makes the first NaN", async () => {
  await editor().debug.start(PROGRAM);
  await editor().debug.showView();
  await editor().debug.stoppedAt(PROGRAM, lineOf("loss.backward()"), "loss.backward()");
  const said = await editor().debug.exception();
  expect(said).toContain("Exception has occurred: NaN or Inf");
  expect(said).toContain(SENTENCE);
  expect(said).toMatch(/saved result\s+float32\[64\] in \[.*\] zeros 1/);
  expect(said).toContain("Try: Add 1e-8 under the root");
  await editor().screenshot("widget");
});

test("NaN or Inf is in the Breakpoints view from the first session on, and is ticked", async () => {
  expect(await editor().debug.filter("NaN or Inf").getAttribute("aria-checked")).toBe("true");
});

test("the badge of the stop, the Variables view and a hover show tensors in a line", async () => {
  const badge = editor().page.locator(".call-stack-state-message");
  expect(await badge.innerText()).toBe("NaN or Inf in SqrtBackward0 in ContrastiveLoss");
  expect(await editor().debug.value("left")).toMatch(/^float32\[64, 32\] cpu · x∈\[.*\] μ=.* σ=/);
  const hover = await editor().debug.hover("loss.backward()", "loss");
  expect(await hover.innerText()).toMatch(/^float32\[\] cpu · .* · grad MeanBackward0/);
});

test("the views show the session, the hit and the finding, and the status bar the step", async () => {
  await editor().workbench.showZenTracer();
  const row = (view: string, label: RegExp): Promise<void> =>
    editor().workbench.viewRow(view, label).waitFor();
  await row("Sessions", /nan_contrastive.py.*step 163/s);
  await row("Tensor Breakpoints", /NaN or Inf.*×1/s);
  await row("Findings", /NaN in gradient.*nan_contrastive.py:64/s);
  await editor().workbench.statusBar(/step 163 · loss 0\.\d+/).waitFor();
  await editor().screenshot("views");
});

test("a finding leads to its line, and its quick fix edits the line", async () => {
  await editor().workbench.viewRow("Findings", "NaN in gradient").click();
  await editor().workbench.cursorAt(lineOf("torch.sqrt(squared)")).waitFor();
  await editor().workbench.openFile(PROGRAM, lineOf("torch.sqrt(squared)"));
  await editor().workbench.quickFix("Add 1e-8 under the root");
  await editor().workbench.line("distance = torch.sqrt(squared + 1e-8)").waitFor();
  await editor().page.keyboard.press("Control+Z");
  await editor().workbench.line("distance = torch.sqrt(squared)").waitFor();
});

test("a condition edited in the Breakpoints view takes effect", async () => {
  await editor().debug.showView();
  await editor().debug.editCondition("NaN or Inf", "match('no.such.module')");
  await editor().debug.restart();
  await editor().debug.ended();
  await editor().debug.editCondition("NaN or Inf", "step > 100 and nan > 0");
  await editor().debug.start(PROGRAM);
  await editor().debug.stoppedAt(PROGRAM, lineOf("loss.backward()"));
});
