/** Sessions: stop, restart, two at once, and the ranks of a distributed run. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processesOf } from "./harness/processes.ts";
import { lineOf, program } from "./harness/programs.ts";
import { story } from "./harness/story.ts";
import { until } from "./harness/waiting.ts";

const FILES = ["steps.py", "ranks.py", "tensors.py"];
const editor = story({
  name: "sessions",
  files: FILES.map(program),
  configurations: [
    {
      name: "two ranks",
      type: "zentracer",
      request: "launch",
      module: "torch.distributed.run",
      args: ["--standalone", "--nproc-per-node", "2", "${workspaceFolder}/ranks.py"],
      console: "integratedTerminal",
    },
  ],
});

function step(text: string | null): number {
  return Number(/step ([\d,]+)/.exec(text ?? "")?.[1]?.replace(",", ""));
}

test("the status bar counts the steps of a program that runs", async () => {
  await editor().workbench.openFile("steps.py");
  await editor().workbench.command("ZenTracer: Debug Python File with ZenTracer");
  const item = editor().workbench.statusBar(/step \d+.*loss/);
  await item.waitFor();
  const first = step(await item.textContent());
  expect(first).toBeGreaterThan(0);
  await until("a later step", async () => step(await item.textContent()) > first);
});

test("stop ends the program and all that was started for it", async () => {
  expect(await processesOf(join(editor().folder, "steps.py"))).not.toEqual([]);
  await editor().debug.stop();
  const left = async (): Promise<boolean> =>
    (await processesOf(join(editor().folder, "steps.py"))).length === 0;
  await until("the end of its processes", left);
});

test("restart runs the program again, with a new process", async () => {
  const line = lineOf("steps.py", "backward");
  await editor().debug.toggleBreakpoint("steps.py", line);
  await editor().workbench.command("ZenTracer: Debug Python File with ZenTracer");
  await editor().debug.showView();
  await editor().debug.stoppedAt("steps.py", line);
  const before = await processesOf(join(editor().folder, "steps.py"));
  await editor().debug.restart();
  await until("new processes", async () => {
    const now = await processesOf(join(editor().folder, "steps.py"));
    return now.length > 0 && now.every((pid) => !before.includes(pid));
  });
  await editor().debug.stoppedAt("steps.py", line);
});

test("a second session runs beside the first", async () => {
  await editor().debug.toggleBreakpoint("tensors.py", lineOf("tensors.py", "look"));
  await editor().workbench.command("ZenTracer: Debug Python File with ZenTracer");
  await editor().debug.session("steps.py", "paused").waitFor();
  await editor().debug.session("tensors.py", "paused").waitFor();
  await editor().workbench.showZenTracer();
  await editor().workbench.viewRow("Sessions", "steps.py").waitFor();
  await editor().workbench.viewRow("Sessions", "tensors.py").waitFor();
  await editor().debug.stop();
});

test("the ranks of torchrun are below it, and named by their rank", async () => {
  await editor().debug.toggleBreakpoint("ranks.py", lineOf("ranks.py", "ranks"));
  await editor().debug.startConfiguration("two ranks");
  await editor().debug.showView();
  await editor().debug.session("rank 0", "paused").waitFor();
  await editor().debug.session("rank 1", "paused").waitFor();
  await editor().workbench.showZenTracer();
  for (const rank of ["rank 0", "rank 1"]) {
    const nested = editor().workbench.viewRow("Sessions", rank);
    await nested.waitFor();
    expect(Number(await nested.getAttribute("aria-level"))).toBeGreaterThan(1);
  }
  await editor().screenshot("ranks");
  await editor().debug.stop();
});

test("nothing is left of the programs in the end", async () => {
  writeFileSync(join(editor().folder, "enough"), "");
  expect(existsSync(join(editor().folder, "enough"))).toBe(true);
  await until("the end of all", async () => (await processesOf(editor().folder)).length === 0);
});
