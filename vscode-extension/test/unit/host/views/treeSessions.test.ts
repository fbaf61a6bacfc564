import { expect, test } from "vitest";
import type { TreeNode } from "../../../../src/pure/tree";
import { type RunFacts, ended, progress, sessionsTree, withGone } from "../../../../src/pure/treeSessions";
import { process, step } from "./examples";

function run(changes: Partial<RunFacts> = {}): RunFacts {
  return withGone(undefined, {
    id: "s1",
    name: "Train",
    state: "running",
    stoppedText: undefined,
    pid: 1,
    version: "0.1.0",
    processes: [process()],
    steps: new Map([[1, step()]]),
    children: [],
    ...changes,
  });
}

/** Rows as lines: what stands in them, deeper ones further right. */
function lines(nodes: readonly TreeNode[], depth = 0): string[] {
  return nodes.flatMap((node) => [
    `${"  ".repeat(depth)}${node.label} | ${node.description ?? ""}`,
    ...lines(node.children ?? [], depth + 1),
  ]);
}

test("one process is one row with how far it is", () => {
  expect(lines(sessionsTree([run()]))).toEqual(["Train | step 163 · loss 0.4213 · 1.8 %"]);
});

test("its tooltip says what runs there", () => {
  const [node] = sessionsTree([run()]);
  expect(node?.tooltip).toContain("Python 3\\.11\\.2 · torch 2\\.13\\.0 · ZenTracer 0\\.1\\.0");
  expect(node?.tooltip).toContain("1.8 % of a step's time goes to ZenTracer.");
  expect(node?.action?.args).toEqual(["s1"]);
});

test("what is not known is left out", () => {
  expect(progress(step({ loss: null, overhead: null }))).toBe("step 163");
  expect(progress(undefined)).toBe("");
  expect(lines(sessionsTree([run({ steps: new Map(), processes: [] })]))).toEqual(["Train | running"]);
  expect(lines(sessionsTree([run({ state: "starting", steps: new Map() })]))).toEqual(["Train | starting"]);
});

test("a stop is a row of its own", () => {
  const stopped = run({ state: "stopped", stoppedText: "NaN or Inf in SqrtBackward0\nmore" });
  expect(lines(sessionsTree([stopped]))).toEqual([
    "Train | step 163 · loss 0.4213 · 1.8 %",
    "  at NaN or Inf in SqrtBackward0 | ",
  ]);
  const told = run({ state: "stopped", stoppedText: "fc is about to run", isSentence: true });
  expect(lines(sessionsTree([told]))[1]).toBe("  fc is about to run | ");
});

const RANKS = run({
  steps: new Map([[3, step({ pid: 3, rank: 1, step: 9 })]]),
  processes: [
    process({ name: "launcher" }),
    process({ pid: 3, rank: 1, parent_pid: 1, name: "rank 1" }),
    process({ pid: 2, rank: 0, parent_pid: 1, name: "rank 0" }),
    process({ pid: 4, rank: 0, parent_pid: 2, name: "child 4" }),
  ],
  children: [{ id: "s3", name: "rank 1", state: "stopped", stoppedText: "pause", pid: 3 }],
});

test("ranks come in order, workers below their parent, each with its own state", () => {
  expect(lines(sessionsTree([RANKS]))).toEqual([
    "Train | running",
    "  rank 0 | running",
    "    child 4 | running",
    "  rank 1 | step 9 · loss 0.4213 · 1.8 %",
    "    at pause | ",
  ]);
});

test("a rank that ended stays in its run, a worker does not", () => {
  const now = withGone(RANKS, { ...RANKS, processes: RANKS.processes.slice(0, 2) });
  expect(now.gone.map((gone) => gone.name)).toEqual(["rank 0"]);
  expect(lines(sessionsTree([now]))).toContain("  rank 0 | ended");
});

test("a program that was started again does not show the ranks of the time before", () => {
  const again = withGone(RANKS, { ...RANKS, pid: 9, processes: [process({ pid: 9 })], children: [] });
  expect(lines(sessionsTree([again]))).toEqual(["Train | running"]);
});

test("a run that is over keeps its last numbers", () => {
  const over = ended(withGone(run(), run({ processes: [] })));
  expect(lines(sessionsTree([over]))).toEqual(["Train | ended · step 163 · loss 0.4213 · 1.8 %"]);
});
