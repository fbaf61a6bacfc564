import { expect, test } from "vitest";
import {
  type DataItem,
  dataChanges,
  dataKeyOf,
  dataListOf,
  dataStateOf,
  nameOf,
  readDataInfo,
  watchedOf,
} from "../../../../src/pure/dataBreakpoints";
import { dataRowOf, dataTree, limitsOf } from "../../../../src/pure/dataTree";
import type { DataBreakpointState } from "../../../../src/wire/generated";
import { example } from "./examples";

const [OURS, THEIRS] = example("data_breakpoints").breakpoints as [
  DataBreakpointState,
  DataBreakpointState,
];
const item = (changes: Partial<DataItem> = {}): DataItem => ({
  data_id: "t12",
  name: "fc.weight",
  condition: null,
  hit_condition: null,
  enabled: true,
  ...changes,
});
const alone = (): string => "";

test("the list of a process is what the adapter told of it, without the editor's own", () => {
  const other = { ...OURS, pid: 1, data_id: "t1" };
  const [first, ...rest] = dataListOf([OURS, THEIRS, other], OURS.pid);
  expect(rest).toEqual([]);
  expect(first).toEqual({
    data_id: "t12",
    name: "model.fc.weight",
    condition: "changed > 0.02",
    hit_condition: null,
    enabled: true,
  });
  expect(dataStateOf([OURS, THEIRS, other], OURS.pid, first!)).toBe(OURS);
  expect(dataStateOf([OURS, THEIRS, other], 1, first!)).toBeUndefined();
});

test("the same tensor on the same condition is not watched twice, but enabled", () => {
  const list = dataChanges.withAdded([item({ enabled: false })], item());
  expect(list).toEqual([item()]);
  const nan = item({ condition: "nan > 0" });
  expect(dataChanges.withAdded(list, nan)).toEqual([item(), nan]);
  expect(dataChanges.withReplaced([item(), nan], dataKeyOf(item()), nan)).toEqual([nan]);
});

test("a row has its hits and limits, what it found last, and leads back to its breakpoint", () => {
  const [row, edited] = dataTree([OURS, THEIRS], alone);
  expect(row).toMatchObject({
    label: "model.fc.weight",
    description: "×3 · if changed > 0.02",
    checked: true,
    context: "dataBreakpoint.view",
    spoken: "data breakpoint, enabled",
    icon: { name: "debug-breakpoint-data" },
    action: { id: "zentracer.openLocation" },
  });
  expect(row?.children?.map((child) => child.description)).toContain(OURS.last?.text);
  expect(dataRowOf(row!.id)).toEqual({ pid: OURS.pid, key: dataKeyOf(OURS) });
  expect(edited?.checked).toBeUndefined();
  expect(dataRowOf(edited!.id)).toBeUndefined();
});

test("a breakpoint whose tensor is gone says so below", () => {
  const [row] = dataTree([{ ...THEIRS, source: "view" }], alone);
  expect(row).toMatchObject({
    spoken: "data breakpoint, not active",
    icon: { name: "debug-breakpoint-data-unverified" },
    expanded: true,
  });
  expect(row?.children?.[0]?.label).toBe("The tensor x is gone.");
});

test("one that is disabled has no reason, and among processes each has its name", () => {
  const [row] = dataTree([{ ...THEIRS, source: "view", enabled: false }], () => "rank 1");
  expect(row?.description).toBe("when it changes · rank 1");
  expect(row?.icon?.name).toBe("debug-breakpoint-data-disabled");
  expect(row?.children?.map((child) => child.label)).toEqual(["not hit yet"]);
});

test("what else is said of a tensor is left to the tooltip", () => {
  const [row] = dataTree([{ ...OURS, name: "w · float32[3] · shares memory with v" }], alone);
  expect(row?.label).toBe("w");
  expect(row?.tooltip).toContain("shares memory with v");
  expect(nameOf("x[0, 5]")).toBe("x[0, 5]");
});

test.each([
  [null, null, "when it changes"],
  ["nan > 0", null, "if nan > 0"],
  ["nan > 0", ">= 3", "if nan > 0 · hit >= 3"],
  [null, "every 10 steps", "when it changes · every 10 steps"],
])("condition %j and hits %j read “%s”", (condition, hits, text) => {
  expect(limitsOf({ condition, hit_condition: hits })).toBe(text);
});

test.each([
  [
    "a row of Variables",
    { sessionId: "s", container: { variablesReference: 7 }, variable: { name: "grad" } },
    { name: "grad", variablesReference: 7, sessionId: "s" },
  ],
  [
    "a watch expression",
    { sessionId: "s", container: { expression: "x" }, variable: { name: "x", evaluateName: "x" } },
    { name: "x", sessionId: "s" },
  ],
  ["a hover", { expression: "a.b" }, { name: "a.b" }],
  [
    "the Tensor panel",
    { expression: "a.b", frameId: 3, sessionId: "s" },
    { name: "a.b", frameId: 3, sessionId: "s" },
  ],
  ["the editor's menu", { scheme: "file", path: "/a.py" }, undefined],
  ["the palette", undefined, undefined],
])("what is to be watched is told by %s", (_, argument, expected) => {
  expect(watchedOf(argument)).toEqual(expected);
});

test("an answer without an id says why", () => {
  expect(readDataInfo({ dataId: "t1", description: "x · float32[3]" })).toEqual({
    dataId: "t1",
    description: "x · float32[3]",
  });
  expect(readDataInfo({ dataId: null, description: "`x` is an int." }).dataId).toBeUndefined();
  expect(readDataInfo(undefined).description).toContain("cannot");
});
