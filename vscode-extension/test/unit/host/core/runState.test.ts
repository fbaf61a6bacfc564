import { expect, test } from "vitest";
import { RunState } from "../../../../src/pure/runState";

const event = (name: string, body: object = {}) => ({ type: "event", event: name, body });
const answer = (command: string, seq = 0, body: object = {}) => ({
  type: "response",
  success: true,
  command,
  request_seq: seq,
  body,
});

function started(): RunState {
  const run = new RunState();
  run.observe(event("process", { systemProcessId: 4711 }));
  return run;
}

test("a session starts, runs and ends", () => {
  const run = new RunState();
  expect(run.state).toBe("starting");
  run.observe(event("process", { systemProcessId: 4711 }));
  expect([run.state, run.pid]).toEqual(["running", 4711]);
  run.end();
  run.observe(event("stopped", { threadId: 1 }));
  expect(run.state).toBe("ended");
});

test("our adapter is known by its capabilities", () => {
  const run = new RunState();
  run.observe(answer("initialize", 1, { supportsCancelRequest: true }));
  expect(run.handshake).toBeUndefined();
  run.observe(answer("initialize", 1, { zentracer: { version: "0.1.0", protocol_version: 1 } }));
  expect(run.handshake).toEqual({ version: "0.1.0", protocolVersion: 1 });
});

test.each([
  [{ description: "NaN or Inf in fc1", text: "NaN in …", reason: "exception" }, "NaN or Inf in fc1"],
  [{ description: "", text: "NaN in …", reason: "exception" }, "NaN in …"],
  [{ reason: "breakpoint" }, "breakpoint"],
  [{}, undefined],
])("a stop %j is described", (body, text) => {
  const run = started();
  expect(run.observe(event("stopped", { threadId: 1, ...body }))).toBe(true);
  expect([run.state, run.stoppedText]).toEqual(["stopped", text]);
});

test("one thread goes on, the other stays", () => {
  const run = started();
  run.observe(event("stopped", { threadId: 1 }));
  run.observe(event("stopped", { threadId: 2 }));
  run.observe(event("continued", { threadId: 1, allThreadsContinued: false }));
  expect(run.state).toBe("stopped");
  run.observe(event("thread", { reason: "exited", threadId: 2 }));
  expect(run.state).toBe("running");
});

test("the answer to a step that has stopped again is old news", () => {
  const run = started();
  run.observe(event("stopped", { threadId: 1, reason: "breakpoint" }));
  run.asked({ type: "request", command: "next", seq: 9 });
  run.observe(event("stopped", { threadId: 1, reason: "step" }));
  run.observe(answer("next", 9));
  expect([run.state, run.stoppedText]).toEqual(["stopped", "step"]);
  run.asked({ type: "request", command: "continue", seq: 10 });
  run.observe(answer("continue", 10, { allThreadsContinued: true }));
  expect([run.state, run.stoppedText]).toEqual(["running", undefined]);
});

test.each([undefined, null, 7, "x", [], {}, event("stopped", []), { type: "event", event: null }])(
  "the message %j does no harm",
  (message) => {
    const run = started();
    run.observe(message);
    run.asked(message);
    expect(run.pid).toBe(4711);
  },
);

test("what a stop tells lasts until its thread goes on", () => {
  const run = started();
  const told = { reason: "data breakpoint", threadId: 1, text: "fc.weight changed." };
  run.observe(event("stopped", { ...told, description: told.text }));
  expect(run.told).toEqual(told);
  run.observe(event("continued", { threadId: 2, allThreadsContinued: false }));
  expect(run.told).toEqual(told);
  run.observe(event("continued", { threadId: 1, allThreadsContinued: false }));
  expect(run.told).toBeUndefined();
});

test("a stop that says no more than why tells nothing", () => {
  const run = started();
  run.observe(event("stopped", { reason: "data breakpoint", threadId: 1, text: "fc.weight changed." }));
  run.observe(event("stopped", { reason: "step", threadId: 1 }));
  expect(run.told).toBeUndefined();
});
