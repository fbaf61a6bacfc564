import type { DebugSession } from "vscode";
import { expect, test } from "vitest";
import { Session } from "../../../../src/debug/session";
import { example } from "../views/examples";

const debug = { configuration: {} } as DebugSession;
const started = (pid: number) => ({ type: "event", event: "process", body: { systemProcessId: pid } });

test("a program that is started again has made no steps yet", () => {
  const session = new Session(debug, undefined);
  session.observe(started(4711));
  session.receive("step", { pid: 4711, step: 41 });
  session.receive("step", { pid: 4712, rank: 1, step: 41 });
  session.observe(started(4711));
  expect(session.steps.size).toBe(2);
  session.observe(started(4800));
  expect(session.steps.size).toBe(0);
});

test("what a child sees of its own start leaves the run's steps alone", () => {
  const root = new Session(debug, undefined);
  const child = new Session({ configuration: { subProcessId: 4712 } } as unknown as DebugSession, root);
  root.receive("step", { pid: 4712, rank: 1, step: 41 });
  child.observe(started(4712));
  child.observe(started(4713));
  expect(root.steps.get(4712)?.step).toBe(41);
});

test("changes are those of each process, and of none once the program is started again", () => {
  const session = new Session(debug, undefined);
  session.observe(started(4711));
  session.receive("patches", example("patches"));
  session.receive("patches", { pid: 4712, patches: [] });
  session.receive("patches", { patches: [] });
  expect([...session.patches].map(([pid, list]) => [pid, list.length])).toEqual([
    [4711, 1],
    [4712, 0],
  ]);
  session.observe(started(4800));
  expect(session.patches.size).toBe(0);
});
