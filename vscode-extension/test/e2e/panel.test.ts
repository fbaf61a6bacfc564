/** The Tensor panel: the program's numbers, at this stop and the next, and what it says without any. */
import { expect, test } from "vitest";
import { knownNumbers, lineOf, program } from "./harness/programs.ts";
import { story } from "./harness/story.ts";
import { until } from "./harness/waiting.ts";
import { exactly } from "./harness/workbench.ts";

const PROGRAM = "tensors.py";
const LOOK = lineOf(PROGRAM, "look");
const DELETED = lineOf(PROGRAM, "deleted");
const editor = story({ name: "panel", files: [program(PROGRAM)] });

/** What torch said at the latest stop is what the panel shows. */
async function showsNumbersOf(call: number): Promise<void> {
  const { panel } = editor();
  await until("the numbers of the stop", async () => {
    const numbers = knownNumbers(editor().folder)[call];
    return numbers !== undefined && (await panel.figure("max")) === Math.fround(numbers.max);
  });
  const numbers = knownNumbers(editor().folder)[call]!;
  for (const name of ["min", "max", "mean", "norm"] as const) {
    expect(await panel.figure(name)).toBeCloseTo(numbers[name], 5);
  }
  expect(await panel.figure("NaN")).toBe(numbers.NaN);
  expect(await panel.figure("zeros")).toBe(numbers.zeros);
}

test("without a session the panel says what to do", async () => {
  await editor().workbench.openFile(PROGRAM);
  await editor().page.keyboard.press("F1");
  await editor().workbench.input.fill(">ZenTracer: Inspect Tensor");
  await editor().workbench.row("ZenTracer: Inspect Tensor").click();
  await editor().page.locator(".quick-input-title", { hasText: "Inspect Tensor" }).waitFor();
  await editor().workbench.input.fill("ramp");
  await editor().page.keyboard.press("Enter");
  await editor().panel.notice("Nothing is being debugged").waitFor();
});

test("the panel shows at the first stop the numbers that torch has", async () => {
  await editor().debug.toggleBreakpoint(PROGRAM, LOOK);
  await editor().debug.start(PROGRAM);
  await editor().debug.showView();
  await editor().debug.stoppedAt(PROGRAM, LOOK);
  await showsNumbersOf(0);
  expect(await editor().panel.expression.innerText()).toBe("ramp");
  await editor().screenshot("heat-map");
});

test("its values are the elements, to the last digit", async () => {
  await editor().panel.showTab("Values");
  expect(await editor().panel.values()).toEqual(knownNumbers(editor().folder)[0]!.values);
  await editor().screenshot("values");
});

test("it follows the program to the next stop", async () => {
  await editor().debug.continue();
  await editor().panel.caption.filter({ hasText: "stop 2" }).waitFor();
  await showsNumbersOf(1);
  const { values } = knownNumbers(editor().folder)[1]!;
  await until("the values of the stop", async () => (await editor().panel.values())[0]![0] === values[0]![0]);
  expect(await editor().panel.values()).toEqual(values);
});

test("a line shows how it changed since the first stop", async () => {
  const { history } = editor().panel;
  await expect.poll(() => history.getAttribute("aria-label")).toContain("2 points, 2 of them stops, stop 1 to stop 2");
  await history.press("End");
  await editor().panel.content.getByText(`stop 2 at ${PROGRAM}:${LOOK}`).waitFor();
});

test("a tensor without elements and one of eight dimensions", async () => {
  await editor().debug.inspect("empty");
  await editor().panel.notice("no elements").waitFor();
  await editor().debug.inspect("deep");
  await expect.poll(() => editor().panel.figure("max")).toBe(6560);
  await expect.poll(() => editor().panel.content.locator("zt-slice-picker .dim").count()).toBe(8);
  await editor().screenshot("eight-dimensions");
});

test("an image of three channels", async () => {
  await editor().debug.inspect("photo");
  await expect.poll(() => editor().panel.figure("size")).toBe(3 * 24 * 32);
  await editor().panel.showTab("Image");
  await editor().panel.content.locator("zt-picture canvas").waitFor();
  await editor().screenshot("image");
});

test("a tensor that is deleted is told as gone", async () => {
  await editor().debug.inspect("gone");
  await expect.poll(() => editor().panel.figure("size")).toBe(4);
  await editor().debug.toggleBreakpoint(PROGRAM, DELETED);
  await editor().debug.continue();
  await editor().debug.stoppedAt(PROGRAM, DELETED);
  await editor().panel.content.locator("zt-notice [role=alert]", { hasText: "gone" }).waitFor();
  await editor().screenshot("deleted");
});

test("after the end the panel says so and keeps what it showed", async () => {
  await editor().debug.stop();
  await editor().workbench.tab(exactly("photo")).click();
  await editor().panel.caption.filter({ hasText: "has ended" }).waitFor();
  expect(await editor().panel.figure("size")).toBe(3 * 24 * 32);
});

test("a panel is there again after the window was reloaded", async () => {
  await editor().workbench.reload();
  await editor().workbench.tab(exactly("photo")).waitFor();
  await expect.poll(() => editor().panel.expression.innerText()).toBe("photo");
  await editor().panel.notice(/debug/i).waitFor();
  await editor().screenshot("restored");
});
