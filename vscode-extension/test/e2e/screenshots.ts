// The pictures of the guides, taken in the real editor: node screenshots.ts [SCENE...]
//
// docs/images/ gets them in the dark theme, build/screenshots/ in the light one too, to look at;
// the walkthrough gets some of them.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Editor } from "./harness/editor.ts";
import install from "./harness/install.ts";
import { exactly } from "./harness/workbench.ts";
import { examples, extensionFolder, programs, repository } from "./harness/places.ts";

const THEMES = { dark: "Dark 2026", light: "Light 2026" };
type Theme = keyof typeof THEMES;

const STOP = "nan_contrastive.py";
const PANEL = "attention.py";
const DEEP = "deep_cnn.py";
const WATCHED = "watched.py";
const BREAKS = "breaks.py";
/** What the walkthrough shows. */
const WALKED = new Set(["stop", "breakpoints", "tensor", "fix"]);
const review = join(repository, "build/screenshots");
const published = join(repository, "docs/images");
const walkthrough = join(extensionFolder, "media/walkthrough");

function lineOf(file: string, text: string): number {
  return readFileSync(file, "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;
}

function start(theme: Theme, file: string): Promise<Editor> {
  return Editor.start({
    name: `screenshots-${theme}`,
    files: [file],
    scale: 1.25,
    settings: {
      "workbench.colorTheme": THEMES[theme],
      "window.autoDetectColorScheme": false,
      "debug.openDebug": "neverOpen",
      "debug.internalConsoleOptions": "neverOpen",
      "workbench.editor.empty.hint": "hidden",
      "workbench.layoutControl.enabled": false,
      "editor.lightbulb.enabled": "on",
    },
  });
}

async function hidePanel(editor: Editor): Promise<void> {
  const panel = editor.page.locator(".part.panel");
  if (await panel.isVisible()) await editor.workbench.command("View: Hide Panel");
  await panel.waitFor({ state: "hidden" });
}

async function take(editor: Editor, theme: Theme, name: string): Promise<void> {
  await editor.page.mouse.move(640, 12); // away from whatever would show a hover
  await editor.page.locator(".notification-toast").first().waitFor({ state: "hidden" });
  const path = join(review, `${name}-${theme}.png`);
  await editor.page.screenshot({ path, animations: "disabled" });
  if (theme !== "dark") return;
  copyFileSync(path, join(published, `${name}.png`));
  if (WALKED.has(name)) copyFileSync(path, join(walkthrough, `${name}.png`));
}

/** The first stop, its finding with the fix, and a breakpoint for a module. */
async function stop(theme: Theme): Promise<void> {
  const editor = await start(theme, join(examples, STOP));
  try {
    await editor.debug.start(STOP);
    await editor.debug.showView();
    await editor.debug.stoppedAt(STOP, lineOf(join(examples, STOP), "loss.backward()"));
    await hidePanel(editor);
    await editor.debug.exception();
    await editor.debug.variable("loss");
    await take(editor, theme, "stop");
    await finding(editor, theme);
    await breakpoints(editor, theme);
  } finally {
    await editor.stop();
  }
}

async function finding(editor: Editor, theme: Theme): Promise<void> {
  const { workbench, page } = editor;
  await workbench.showZenTracer();
  const row = workbench.viewRow("Findings", "NaN in gradient");
  await row.click();
  await row.locator(".monaco-tl-twistie").click();
  await workbench.viewRow("Findings", "Add 1e-8").waitFor();
  await take(editor, theme, "findings");
  await workbench.openFile(STOP, lineOf(join(examples, STOP), "torch.sqrt(squared)"));
  await page.keyboard.press("Control+.");
  await page.locator(".action-widget .monaco-list-row").first().waitFor();
  await take(editor, theme, "fix");
  await page.keyboard.press("Escape");
}

async function breakpoints(editor: Editor, theme: Theme): Promise<void> {
  const { workbench, page } = editor;
  await page.keyboard.press("F1");
  await workbench.input.fill(">ZenTracer: Break in Module…");
  await workbench.row("ZenTracer: Break in Module…").click();
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "layers.0" }).waitFor();
  await workbench.input.fill("layers");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "layers.2" }).waitFor();
  await take(editor, theme, "breakpoints");
  await page.keyboard.press("Escape");
}

/** The case study of a network whose first layers do not learn, at its stop. */
async function vanishing(theme: Theme): Promise<void> {
  const file = join(examples, DEEP);
  const editor = await start(theme, file);
  try {
    await editor.debug.start(DEEP);
    await editor.debug.showView();
    await editor.debug.tick("Vanishing gradient");
    await editor.debug.stop();
    await editor.debug.start(DEEP);
    await editor.debug.stoppedAt(DEEP, lineOf(file, "loss.backward()"));
    await hidePanel(editor);
    await editor.debug.exception();
    await take(editor, theme, "vanishing");
    await editor.workbench.showZenTracer();
    const row = editor.workbench.viewRow("Findings", "Vanishing gradient");
    await row.click();
    await row.locator(".monaco-tl-twistie").click();
    const evidence = await editor.workbench.reach("Findings", /^Evidence/);
    await evidence.locator(".monaco-tl-twistie").click();
    await take(editor, theme, "vanishing-layers");
  } finally {
    await editor.stop();
  }
}

/** A tensor with NaN in it. */
async function panel(theme: Theme): Promise<void> {
  const file = join(programs, PANEL);
  const editor = await start(theme, file);
  try {
    await editor.debug.toggleBreakpoint(PANEL, lineOf(file, "@weights"));
    await editor.debug.start(PANEL);
    await editor.debug.showView();
    await editor.debug.stoppedAt(PANEL, lineOf(file, "weights = scores.softmax"));
    await editor.debug.continue();
    await editor.debug.stoppedAt(PANEL, lineOf(file, "@weights"));
    await hidePanel(editor);
    await editor.debug.inspect("weights");
    const { content } = editor.panel;
    await content.getByRole("spinbutton", { name: "Index of dimension 0" }).fill("2");
    await content.getByRole("spinbutton", { name: "Index of dimension 0" }).press("Enter");
    await content.locator("zt-legend .some").waitFor();
    await content.locator("zt-picture canvas").scrollIntoViewIfNeeded();
    await take(editor, theme, "tensor");
  } finally {
    await editor.stop();
  }
}

/** What two watches say at the fourth stop, and the line of one of them. */
async function watches(theme: Theme): Promise<void> {
  const file = join(programs, WATCHED);
  const editor = await start(theme, file);
  try {
    const line = lineOf(file, "@look");
    await editor.debug.toggleBreakpoint(WATCHED, line);
    await editor.debug.start(WATCHED);
    await editor.debug.showView();
    await editor.debug.stoppedAt(WATCHED, line);
    await hidePanel(editor);
    await editor.debug.inspect("loss");
    await editor.debug.inspect("hidden");
    for (const expression of ["loss", "model[0].weight"]) await editor.debug.watch(expression);
    for (const step of [120, 240, 400]) {
      await editor.debug.continue();
      await editor.panel.caption.filter({ hasText: `step ${step}` }).waitFor();
      await editor.panel.history.waitFor();
    }
    await take(editor, theme, "watches");
    await editor.workbench.tab(exactly("loss")).click();
    await editor.panel.history.press("End");
    await take(editor, theme, "watch-scalar");
  } finally {
    await editor.stop();
  }
}

/** A breakpoint on a module, then one on what writes to its weight. */
async function breaks(theme: Theme): Promise<void> {
  const file = join(programs, BREAKS);
  const editor = await start(theme, file);
  const { debug, workbench, page } = editor;
  try {
    await debug.toggleBreakpoint(BREAKS, lineOf(file, "@backward"));
    await debug.start(BREAKS);
    await debug.showView();
    await debug.stoppedAt(BREAKS, lineOf(file, "@backward"));
    await hidePanel(editor);
    await page.keyboard.press("F1");
    await workbench.input.fill(">ZenTracer: Break in Module…");
    await workbench.row("ZenTracer: Break in Module…").click();
    await workbench.row("fc").click();
    await workbench.row("Before it runs").waitFor();
    await take(editor, theme, "break-in-module");
    await workbench.row("Before it runs").click();
    await dismiss(editor, "before fc runs");
    await debug.breakpoint("module:fc");
    await debug.continue();
    await debug.stoppedAt(BREAKS, lineOf(file, "@fc"));
    await page.locator(".pane-header", { hasText: exactly("Watch") }).click(); // makes room
    for (const scope of ["Locals", "Tensors", "Module"]) {
      await page.locator(".debug-variables .monaco-list-row", { hasText: exactly(scope) }).click();
    }
    await page.locator(".debug-variables .monaco-list-row", { hasText: /^input/ }).waitFor();
    await take(editor, theme, "module-breakpoint");
    await workbench.quickInput("F1", ">Remove All Breakpoints", "Remove All Breakpoints");
    await dataBreakpoint(editor, theme, lineOf(file, "@step"));
  } finally {
    await editor.stop();
  }
}

async function dataBreakpoint(editor: Editor, theme: Theme, line: number): Promise<void> {
  const { debug, workbench, page } = editor;
  await page.locator(".debug-call-stack .monaco-list-row", { hasText: "train" }).first().click();
  await workbench.contextMenu(await debug.variable("weight"), "Break When NaN");
  await dismiss(editor, "gets a NaN");
  await workbench.contextMenu(await debug.variable("weight"), "Break on Value Change");
  await debug.breakpoint(/^weight/);
  await debug.continue();
  await debug.stoppedAt(BREAKS, line);
  await workbench.command("Debug Console: Focus on Debug Console View");
  await page.locator(".repl .monaco-list-row", { hasText: "before" }).first().waitFor();
  await debug.frame(BREAKS, line).click(); // the console has covered the line
  await workbench.showZenTracer();
  await workbench.viewRow("Tensor Breakpoints", /weight.*×1/s).waitFor();
  await take(editor, theme, "data-breakpoint");
}

async function dismiss(editor: Editor, text: string): Promise<void> {
  const toast = editor.workbench.notification(text);
  await toast.hover();
  await toast.locator(".codicon-notifications-clear").click();
  await toast.waitFor({ state: "hidden" });
}

const SCENES = { breaks, stop, panel, vanishing, watches };
const wanted = process.argv.slice(2);

install();
for (const folder of [review, published, walkthrough]) mkdirSync(folder, { recursive: true });
for (const theme of ["dark", "light"] as const) {
  for (const [name, scene] of Object.entries(SCENES)) {
    if (!wanted.length || wanted.includes(name)) await scene(theme);
  }
}
