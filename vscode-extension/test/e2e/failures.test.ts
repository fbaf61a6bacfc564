/** What goes wrong around a program, and what the user reads then. */
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { python } from "./harness/places.ts";
import { processesOf } from "./harness/processes.ts";
import { lineOf, program } from "./harness/programs.ts";
import { story } from "./harness/story.ts";

const WORK = "${workspaceFolder}";
const BASE = realpathSync(python); // what the virtual environment was made of: it has no torch
const steps = {
  type: "zentracer",
  request: "launch",
  program: `${WORK}/steps.py`,
  console: "integratedTerminal",
};
const editor = story(
  {
    name: "failures",
    files: ["steps.py", "many_modules.py"].map(program),
    configurations: [
      { ...steps, name: "healthy" },
      { ...steps, name: "interpreter missing", python: "/nowhere/bin/python" },
      { ...steps, name: "interpreter too old", python: `${WORK}/old-python` },
      { ...steps, name: "without torch", python: BASE },
      { ...steps, name: "another zentracer", env: { PYTHONPATH: `${WORK}/elsewhere` } },
      { ...steps, name: "switched off", env: { ZENTRACER: "off" } },
    ],
  },
  async ({ debug, workbench }) => {
    await debug.stop();
    await workbench.command("Notifications: Clear All Notifications");
  },
);

test("an interpreter that is missing is named", async () => {
  await editor().debug.startConfiguration("interpreter missing");
  const message = editor().workbench.notification("/nowhere/bin/python is not there");
  await message.locator(".monaco-button", { hasText: "Select Another Interpreter" }).waitFor();
});

test("a Python that is too old is told with the version that is needed", async () => {
  const file = join(editor().folder, "old-python");
  const answer = { version: [3, 8, 18], executable: file, frameworks: ["torch"] };
  writeFileSync(file, `#!/bin/sh\necho 'zentracer-probe:${JSON.stringify(answer)}'\n`);
  chmodSync(file, 0o755);
  await editor().debug.startConfiguration("interpreter too old");
  await editor().workbench.notification(/Python 3\.8\.18 is too old.*3\.9 or newer/).waitFor();
});

test("a framework that is not installed is told before the program starts", async () => {
  await editor().debug.startConfiguration("without torch");
  const message = editor().workbench.notification("imports torch, which is not installed for");
  await message.locator(".monaco-button", { hasText: "Copy Install Command" }).waitFor();
  await message.locator(".monaco-button", { hasText: "Debug Anyway" }).waitFor();
  await editor().screenshot("no-torch");
});

test("another version of zentracer in the environment: one message says which is used", async () => {
  const folder = join(editor().folder, "elsewhere/zentracer");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "__init__.py"), '__version__ = "0.0.9"\n');
  await editor().debug.startConfiguration("another zentracer");
  await editor().workbench.notification("has zentracer 0.0.9 installed; the debugger uses its own").waitFor();
  await editor().workbench.statusBar(/step \d+/).waitFor();
});

test("where the runtime is switched off, the views say why nothing is watched", async () => {
  await editor().debug.startConfiguration("switched off");
  await editor().workbench.showZenTracer();
  await editor().workbench.viewRow("Tensor Breakpoints", "ZenTracer is switched off").waitFor();
  await editor().workbench.statusBar("switched off for this program (ZENTRACER=off)").waitFor();
  await editor().screenshot("switched-off");
});

test("when the adapter dies, a message has the log and a restart, and the restart works", async () => {
  await editor().debug.startConfiguration("healthy");
  await editor().workbench.statusBar(/step \d+/).waitFor();
  const state = join(dirname(editor().folder), "user/");
  const [adapter, ...others] = await processesOf(state);
  expect(others).toEqual([]);
  process.kill(adapter!, "SIGKILL");
  const message = editor().workbench.notification("debug adapter of “healthy” ended");
  await message.locator(".monaco-button", { hasText: "Open Log" }).waitFor();
  expect(await message.innerText()).toContain("adapter-errors.log");
  await editor().screenshot("adapter-killed");
  await editor().debug.ended();
  await message.locator(".monaco-button", { hasText: "Restart" }).click();
  await editor().workbench.statusBar(/step \d+/).waitFor();
  expect(await processesOf(state)).not.toContain(adapter);
});

test("a model of 100,000 modules: the picker counts all and shows what was typed", async () => {
  const line = lineOf("many_modules.py", "picked");
  await editor().debug.toggleBreakpoint("many_modules.py", line);
  await editor().workbench.command("ZenTracer: Debug Python File with ZenTracer");
  await editor().debug.showView();
  await editor().debug.stoppedAt("many_modules.py", line);
  await editor().page.keyboard.press("F1");
  await editor().workbench.input.fill(">ZenTracer: Break in Module…");
  await editor().workbench.row("ZenTracer: Break in Module…").click();
  await editor().page.locator(".quick-input-title", { hasText: /\(11[12],\d\d\d\)/ }).waitFor();
  await editor().workbench.input.fill("part7.part7.part7.part7.part7");
  await editor().page.locator(".quick-input-title", { hasText: /\(1 of / }).waitFor();
  await editor().screenshot("picker");
  await editor().page.keyboard.press("Escape");
});
