/** Changes to a stopped program: in Variables, in the Tensor panel, by command; and back. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { lineOf, program } from "./harness/programs.ts";
import { story } from "./harness/story.ts";
import { until } from "./harness/waiting.ts";

const PROGRAM = "changed.py";
const LOOK = lineOf(PROGRAM, "look");
/** Rows that stay at the top of a tree would lie above those that are clicked. */
const NOTHING_STICKS = { "workbench.tree.enableStickyScroll": false };
const editor = story({ name: "patches", files: [program(PROGRAM)], settings: NOTHING_STICKS });

/** What the layer made of [1, 2, 4] at the next stop but one. */
async function goOn(turn: number): Promise<number[]> {
  await editor().debug.continue();
  const file = join(editor().folder, "outputs.jsonl");
  const lines = await until(`what turn ${String(turn)} made`, () => {
    const found = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    return Promise.resolve(found.length > turn && found);
  });
  await editor().debug.stoppedAt(PROGRAM, LOOK);
  return JSON.parse(lines[turn]!) as number[];
}

/** A row of the Variables view, below one that is opened on the way. */
async function below(parent: Locator, name: string): Promise<Locator> {
  if ((await parent.getAttribute("aria-expanded")) === "false") {
    await parent.locator(".monaco-tl-twistie").click();
  }
  const level = Number(await parent.getAttribute("aria-level")) + 1;
  const row = editor().page.locator(
    `.debug-variables .monaco-list-row[aria-level="${String(level)}"][aria-label^="${name}, value "]`,
  );
  return until(`the row ${name}`, async () => {
    if (await row.first().isVisible()) return row.first();
    await editor().page.locator(".debug-variables .monaco-list").hover();
    await editor().page.mouse.wheel(0, 22); // the list is short, and has only what is in sight
    return false;
  });
}

test("an element set in Variables is listed, changes what comes out, and can be undone", async () => {
  const { debug, workbench, page } = editor();
  await debug.toggleBreakpoint(PROGRAM, LOOK);
  await debug.start(PROGRAM);
  await debug.showView();
  await debug.stoppedAt(PROGRAM, LOOK);
  await workbench.fold("Watch");
  const values = await below(await debug.variable("weight"), "values");
  const element = await below(await below(values, "[0]"), "[2]");
  await element.locator(".value").dblclick();
  const input = page.locator(".debug-variables .inputBoxContainer input");
  await input.fill("3");
  await input.press("Enter");
  await input.waitFor({ state: "hidden" });
  await workbench.showZenTracer();
  await workbench.fold("Patches", false);
  const row = workbench.viewRow("Patches", /weight.*\[0.*2\].*set to.*3.*1 → 3/s);
  await row.waitFor();
  await editor().screenshot("set");
  expect(await goOn(0)).toEqual([15, 7]);
  await workbench.showZenTracer();
  await row.hover();
  await row.locator(".codicon-discard[role=button], .actions .codicon-discard").first().click();
  await workbench.viewRow("Patches", /undone · 1 → 3/).waitFor();
  await editor().screenshot("undone");
  await debug.showView();
  await expect.poll(() => element.locator(".value").innerText()).toBe("1");
  expect(await goOn(1)).toEqual([7, 7]);
});

test("a cell of the Tensor panel, a stroke in its heat map, and a command change it, too", async () => {
  const { debug, workbench, page, panel } = editor();
  await debug.showView();
  await until("the top of the variables", async () => {
    await page.locator(".debug-variables .monaco-list").press("Home");
    return page.locator('.debug-variables .monaco-list-row[aria-label^="weight, value "]').isVisible();
  });
  await debug.inspect("weight");
  await panel.showTab("Values");
  const cell = panel.content.locator('zt-values td[data-row="1"][data-column="0"]');
  await cell.dblclick();
  const field = panel.content.locator("zt-cell-input input");
  await field.fill("nonsense");
  await field.press("Enter");
  await panel.notice("nonsense").waitFor();
  await editor().screenshot("refused");
  await field.fill("2");
  await field.press("Enter");
  await expect.poll(async () => (await panel.values())[1]).toEqual(["2.0", "1.0", "1.0"]);
  await panel.showTab("Heat map");
  await panel.content.locator('vscode-toolbar-button[label^="Paint"]').click();
  await panel.content.getByLabel("Value to paint").fill("0.5");
  const canvas = panel.content.locator("zt-picture canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = (await canvas.boundingBox())!;
  await page.mouse.move(box.x + 70, box.y + 55); // in the first row, past the numbers at the side
  await page.mouse.down();
  await page.mouse.move(box.x + 150, box.y + 55, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => panel.figure("min")).toBe(0.5);
  await editor().screenshot("painted");
  await debug.showView();
  await workbench.contextMenu(await debug.variable("weight"), "Change Tensor…");
  await workbench.row("Scale").click();
  await page.locator(".quick-input-title", { hasText: "Scale: weight" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-message, .quick-input-description", { hasText: "multiply by" }).waitFor();
  await workbench.input.fill("10");
  await page.keyboard.press("Enter");
  await workbench.notification("weight scaled by 10").waitFor();
  await editor().screenshot("scaled");
  expect((await goOn(2))[1]).toBe(80);
  await workbench.showZenTracer();
  await workbench.viewRow("Patches", /weight scaled by 10/).waitFor();
  await workbench.view("Patches").hover();
  await workbench.view("Patches").locator(".actions .codicon-clear-all").click();
  await workbench.viewRow("Patches", /undone.*weight scaled by 10|weight scaled by 10.*undone/s).waitFor();
  await expect.poll(() => panel.figure("max")).toBe(1);
  expect(await goOn(3)).toEqual([7, 7]);
});
