/** Messages as the adapter sends them: the examples that the Python tests read, too. */
import { readFileSync } from "node:fs";
import { type EventName, readEvent } from "../../../../src/pure/guards";
import type {
  Finding,
  Location,
  Messages,
  Process,
  StepSeen,
  TensorBreakpointState,
} from "../../../../src/wire/generated";

const FOLDER = new URL("../../../../../tests/wire/fixtures/editor/", import.meta.url);

export function example<N extends EventName>(name: N): Messages["events"][N] {
  const text = readFileSync(new URL(`${name}.json`, FOLDER), "utf8");
  return readEvent(name, JSON.parse(text));
}

export function finding(changes: Partial<Finding> = {}): Finding {
  const [first] = example("findings").findings;
  if (!first) throw new Error("the example has no finding");
  return { ...first, ...changes };
}

export function breakpoint(changes: Partial<TensorBreakpointState> = {}): TensorBreakpointState {
  const [first] = example("breakpoints").breakpoints;
  if (!first) throw new Error("the example has no breakpoint");
  return { ...first, ...changes };
}

export function location(path: string, line: number, text: string | null = null): Location {
  return { path, line, text, column: null, end_line: null, end_column: null, function: null };
}

export function process(changes: Partial<Process> = {}): Process {
  return {
    pid: 1,
    python: "3.11.2",
    version: "0.1.0",
    rank: null,
    parent_pid: null,
    name: "train.py",
    frameworks: ["torch 2.13.0"],
    ...changes,
  };
}

export function step(changes: Partial<StepSeen> = {}): StepSeen {
  return { pid: 1, step: 163, rank: null, loss: 0.42132, overhead: 0.0178, ...changes };
}
