/** What goes wrong in a training besides NaN: a tick, a stop, and the numbers behind it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examples } from "./harness/places.ts";
import { story } from "./harness/story.ts";

const PROGRAM = "deep_cnn.py";
const editor = story({ name: "training", files: [join(examples, PROGRAM)] });

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
  await workbench.viewRow("Findings", /^Evidence/).waitFor();
  await editor().screenshot("evidence");
});
