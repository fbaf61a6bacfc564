/** F5 on an example: where it stops, and what a user sees then. */
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";
import { Editor } from "./harness/editor.ts";
import { examples } from "./harness/places.ts";

const PROGRAM = "nan_contrastive.py";
let editor: Editor;

beforeAll(async () => {
  editor = await Editor.start({ name: "stop", files: [join(examples, PROGRAM)] });
});

beforeEach(({ task }) => {
  onTestFailed(() => editor.screenshot(task.name));
});

afterAll(async () => {
  await editor.stop();
});

test("F5 without a launch.json stops at the line that makes the first NaN", async () => {
  await editor.workbench.openFile(PROGRAM);
  await editor.debug.start();
  await editor.debug.showView();
  await editor.debug.stoppedAt(PROGRAM, 80, "loss.backward()");
  const said = await editor.debug.exception();
  expect(said).toContain("Exception has occurred: NaN or Inf");
  expect(said).toContain("NaN in gradient made by SqrtBackward0");
});

test("the badge of the stop, the Variables view and a hover show tensors in a line", async () => {
  const badge = editor.page.locator(".call-stack-state-message");
  expect(await badge.innerText()).toBe("NaN or Inf in SqrtBackward0 in ContrastiveLoss");
  expect(await editor.debug.value("left")).toMatch(/^float32\[64, 32\] cpu · x∈\[.*\] μ=.* σ=/);
  const hover = await editor.debug.hover("loss.backward()", "loss");
  expect(await hover.innerText()).toMatch(/^float32\[\] cpu · .* · grad MeanBackward0/);
});

test("a condition edited in the Breakpoints view takes effect", async () => {
  await editor.debug.editCondition("NaN or Inf", "match('no such module')");
  await editor.debug.restart();
  await editor.debug.ended();
});
