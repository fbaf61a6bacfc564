/**
 * A client that is not ours, Microsoft's test support for debug adapters, drives
 * `python -m zentracer_dap --listen`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DebugClient } from "@vscode/debugadapter-testsupport";
import { afterEach, beforeEach, expect, test } from "vitest";
import { examples, python, repository } from "../e2e/harness/places.ts";
import { knownNumbers, lineOf, program } from "../e2e/harness/programs.ts";
import type { TensorQuery, TensorView } from "../../src/wire/generated.ts";

let adapter: ChildProcess;
let client: DebugClient;

beforeEach(async () => {
  adapter = spawn(python, ["-m", "zentracer_dap", "--listen", "127.0.0.1:0"], {
    cwd: repository,
    stdio: ["ignore", "pipe", "inherit"],
  });
  client = new DebugClient("", "", "zentracer");
  await client.start(await portOf(adapter));
});

afterEach(async () => {
  await client.stop();
  const ended = new Promise((resolve) => adapter.once("exit", resolve));
  adapter.kill("SIGINT");
  await ended;
});

function portOf(process: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    process.once("exit", (code) => {
      reject(new Error(`the adapter ended with ${String(code)}`));
    });
    createInterface(process.stdout!).once("line", (line) => {
      const port = /:(\d+)$/.exec(line)?.[1];
      if (port) resolve(Number(port));
      else reject(new Error(`no port in ${line}`));
    });
  });
}

test("stops at the first NaN, with what was found", async () => {
  const file = join(examples, "nan_contrastive.py");
  const [line] = lineOfText(file, "loss.backward()");
  const [, , stack] = await Promise.all([
    client.waitForEvent("initialized").then(async () => {
      await client.setExceptionBreakpointsRequest({ filters: ["zentracer.nonfinite"] });
      return client.configurationDoneRequest();
    }),
    client.launch({ program: file, console: "internalConsole" }),
    client.assertStoppedLocation("exception", { path: file, line }),
  ]);
  const frameId = stack.body.stackFrames[0]!.id;

  const { body } = await client.exceptionInfoRequest({ threadId: 1 });
  expect(body.exceptionId).toBe("NaN or Inf");
  expect(body.description).toContain("NaN in gradient made by SqrtBackward0");
  expect(body.description).toContain("Try: Add 1e-8 under the root");

  const scopes = await client.scopesRequest({ frameId });
  const { variablesReference } = scopes.body.scopes[0]!;
  const { variables } = (await client.variablesRequest({ variablesReference })).body;
  expect(variables.find(({ name }) => name === "left")?.value).toMatch(/^float32\[64, 32\] cpu · /);
});

test("answers zentracer/tensor with the numbers of the program", async () => {
  const file = program("tensors.py");
  const folder = mkdtempSync(join(tmpdir(), "zentracer-dap-"));
  const line = lineOf("tensors.py", "look");
  await client.hitBreakpoint(
    { program: file, console: "internalConsole", cwd: folder },
    { path: file, line },
  );
  const stack = await client.stackTraceRequest({ threadId: 1 });
  const query = { frame_id: stack.body.stackFrames[0]!.id, expression: "ramp" };

  const stats = await tensor({ ...query, view: "stats" });
  const page = await tensor({ ...query, view: "page", width: 4, height: 3 });
  const numbers = knownNumbers(folder)[0]!;
  expect(stats.summary).toMatch(/^float32\[3, 4\] cpu · .*NaN 1/);
  expect(stats.stats.nan).toBe(numbers.NaN);
  for (const name of ["min", "max", "mean", "norm"] as const) {
    expect(stats.stats[name]).toBeCloseTo(numbers[name], 5);
  }
  expect(page.page?.cells.map((row) => row.map(Number))).toEqual(
    numbers.values.map((row) => row.map(Number)),
  );
  rmSync(folder, { recursive: true });
});

async function tensor(query: TensorQuery): Promise<TensorView> {
  return (await client.customRequest("zentracer/tensor", query)).body as TensorView;
}

function lineOfText(file: string, text: string): number[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, index) => (line.includes(text) ? [index + 1] : []));
}
