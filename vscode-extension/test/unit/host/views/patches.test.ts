import { expect, test } from "vitest";
import {
  PATCH_OPERATIONS,
  sliceOf,
  sliceProblem,
  valueProblem,
} from "../../../../src/pure/patchOperations";
import { patchesCode } from "../../../../src/pure/patchesCode";
import { type Changed, PatchesLog } from "../../../../src/pure/patchesLog";
import { difference, patchesBadge, patchesTree, titleOf } from "../../../../src/pure/patchesTree";
import type { PatchState } from "../../../../src/wire/generated";
import { example } from "./examples";

const [FIRST] = example("patches").patches as [PatchState];

function patch(changes: Partial<PatchState> = {}): PatchState {
  return { ...FIRST, label: null, status: "applied", message: null, ...changes };
}

function changed(id: string, ...patches: PatchState[]): Changed {
  return { id, name: "Train", patches: new Map([[4711, patches]]), processName: () => "train.py" };
}

function logOf(...patches: PatchState[]): PatchesLog {
  const log = new PatchesLog();
  log.update([changed("s1", ...patches)]);
  return log;
}

test("the newest change comes first, with what it did", () => {
  const rows = patchesTree(logOf(patch(), patch({ patch_id: 2, label: "less" })).changes());
  expect(rows.map((row) => row.label)).toEqual(["less", "fc.weight[0, 3:5] scaled by 0.5"]);
  expect(rows[1]).toMatchObject({
    id: "patch:s1:4711:1",
    description: "[1, 2] → [0.5, 1]",
    icon: { name: "check" },
    context: "patch.undo",
    spoken: "applied",
  });
});

test.each([
  ["applied", "check", "[1, 2] → [0.5, 1]", "patch.undo"],
  ["undone", "discard", "undone · [1, 2] → [0.5, 1]", "patch.redo"],
  ["out_of_sync", "warning", "out of sync · [1, 2] → [0.5, 1]", "patch.undo"],
  ["gone", "circle-slash", "freed · [1, 2] → [0.5, 1]", "patch.over"],
  ["deferred", "question", "deferred · [1, 2] → [0.5, 1]", "patch.undo"],
])("a change that is %s says so by icon and word", (status, name, description, context) => {
  const [row] = patchesTree(logOf(patch({ status })).changes());
  expect(row).toMatchObject({ icon: { name }, description, context });
});

test("of many elements the statistics say what changed", () => {
  const { before, after } = FIRST;
  const many = patch({
    old: "",
    new: "",
    before: before && { ...before, mean: 0.75, std: 0.5 },
    after: after && { ...after, mean: 0.375, std: null, nan: 2 },
  });
  expect(difference(many)).toBe("μ 0.75 → 0.375 · 2 NaN");
  expect(difference(patch({ old: "", new: "", before: null, after: null }))).toBe("");
});

test("the tooltip says what, before and after, when, and why an undo was not made", () => {
  const [row] = patchesTree(
    logOf(patch({ status: "out_of_sync", message: "It has changed since.", target: "a`b" })).changes(),
  );
  expect(row?.tooltip).toContain("`` a`b `` scaled by 0\\.5 — float32\\[2\\]");
  expect(row?.tooltip).toMatch(/before: x∈\\\[0\\\.5, 1\\\].*\n.*after: /);
  expect(row?.tooltip).toContain("The same memory is head\\.weight\\.");
  expect(row?.tooltip).toContain("The value has moved on since.\n\nIt has changed since\\.");
  expect(row?.tooltip).toMatch(/Change 1 · step 41 · at train\\\.py:12 · at \d\d:\d\d:\d\d · Train · train\\\.py$/);
});

test("what cannot be undone or done again is known by how it was before", () => {
  const log = logOf(patch({ status: "undone" }));
  log.update([changed("s1", patch({ status: "out_of_sync" }))]);
  expect(log.changes()[0]?.isDone).toBe(false);
  expect(patchesTree(log.changes())[0]?.context).toBe("patch.redo");
});

test("changes of an ended session stay as code, until the next one starts", () => {
  const log = logOf(patch());
  expect(patchesBadge(log.changes())?.value).toBe(1);
  log.update([]);
  const [row] = patchesTree(log.changes());
  expect(row?.context).toBe("patch.over");
  expect(row?.tooltip).toContain("The program has ended.");
  expect(patchesBadge(log.changes())).toBeUndefined();
  log.update([changed("s2")]);
  expect(log.changes()).toEqual([]);
});

test("several processes have their changes below them", () => {
  const log = new PatchesLog();
  const patches = new Map([
    [1, [patch()]],
    [2, [patch(), patch({ patch_id: 2 })]],
  ]);
  log.update([{ id: "s", name: "Train", patches, processName: (pid) => `rank ${String(pid - 1)}` }]);
  expect(patchesTree(log.changes()).map((row) => [row.label, row.description, row.children?.length])).toEqual([
    ["Train · rank 0", "1", 1],
    ["Train · rank 1", "2", 2],
  ]);
});

test("kept as code, changes are statements in their order, with what they need", () => {
  const bare = patch({ patch_id: 2, code: "" });
  const last = patch({ patch_id: 3, label: "two\nlines", code: "optimizer.lr = 0.1", where: "" });
  expect(patchesCode([patch(), bare, last])).toBe(
    "import torch\n\n" +
      "# fc.weight[0, 3:5] scaled by 0.5, as at train.py:12\n" +
      "with torch.no_grad():\n    fc.weight[0, 3:5].mul_(0.5)\n\n" +
      "# two lines: fc.weight[0, 3:5] scaled by 0.5\noptimizer.lr = 0.1\n",
  );
  expect(patchesCode([bare])).toBe("");
  expect(patchesTree(logOf(bare).changes())[0]?.context).toBe("patch.undo.bare");
  expect(titleOf(last)).toBe("two lines");
});

test("what is typed is looked at before the program is asked", () => {
  const [set] = PATCH_OPERATIONS;
  expect(valueProblem(set!, " ")).toBe("A value is needed, for example 0.5.");
  expect(valueProblem(set!, "torch.zeros((2, 3)")).toBe("A “)” is missing.");
  expect(valueProblem(set!, "[1, 2)")).toBe("There is a “)” too many.");
  expect(valueProblem(set!, "names['a)']")).toBeUndefined();
  const zero = PATCH_OPERATIONS.find((one) => one.op === "zero");
  expect(valueProblem(zero!, "")).toBeUndefined();
  const reinit = PATCH_OPERATIONS.find((one) => one.op === "reinit");
  expect(valueProblem(reinit!, "")).toBeUndefined();
  expect(valueProblem(reinit!, "normal(")).toBe("A “)” is missing.");
  expect(sliceProblem("")).toBeUndefined();
  expect(sliceProblem("0, [1, 2")).toBe("A “]” is missing.");
});

test.each([
  ["", null],
  [" 0, 3:5 ", "0, 3:5"],
  ["[0, 3:5]", "0, 3:5"],
  ["[0], [1]", "[0], [1]"],
  ["[]", null],
])("the part %j", (typed, slice) => {
  expect(sliceOf(typed)).toBe(slice);
});
