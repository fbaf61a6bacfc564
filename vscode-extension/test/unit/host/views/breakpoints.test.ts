import { expect, test } from "vitest";
import {
  FIRST_FILTERS,
  labelOf,
  offeredFilters,
  readFilters,
} from "../../../../src/pure/breakpointsFilters";
import {
  type Added,
  asCondition,
  keyOf,
  readStored,
  withAdded,
  withEnabled,
  withReplaced,
  withoutKey,
} from "../../../../src/pure/breakpointsList";
import { breakpointsTree, keyOfRow } from "../../../../src/pure/breakpointsTree";
import { breakpoint } from "./examples";

const NAN = "zentracer.nonfinite";
const added = (module: string | null, condition: string | null = null, enabled = true): Added => ({
  filter: NAN,
  module,
  condition,
  enabled,
});
const name = (filter: string): string => labelOf(FIRST_FILTERS, filter);

test("the same one is not added twice, but enabled", () => {
  const list = withAdded([added("a", null, false)], added("a"));
  expect(list).toEqual([added("a")]);
  expect(withAdded(list, added("b"))).toEqual([added("a"), added("b")]);
});

test("replacing keeps the place and never makes a double", () => {
  const list = [added("a"), added("b")];
  expect(withReplaced(list, keyOf(added("a")), added("a", "step > 3"))).toEqual([added("a", "step > 3"), added("b")]);
  expect(withReplaced(list, keyOf(added("a")), added("b"))).toEqual([added("b")]);
  expect(withReplaced(list, keyOf(added("a")), added("a"))).toEqual(list);
});

test("removing and disabling go by what makes it the same one", () => {
  const list = [added("a"), added("b")];
  expect(withoutKey(list, keyOf(added("a", null, false)))).toEqual([added("b")]);
  expect(withEnabled(list, keyOf(added("b")), false)).toEqual([added("a"), added("b", null, false)]);
});

test("what an older version stored is read as far as it can be", () => {
  expect(readStored(undefined)).toEqual([]);
  expect(readStored([{ filter: NAN }, { module: "x" }, 3, { filter: NAN, module: " ", condition: "step > 1", enabled: false }])).toEqual([
    added(null),
    added(null, "step > 1", false),
  ]);
});

test.each([
  [null, null, null],
  [null, "step > 3", "step > 3"],
  ["encoder.*", null, 'match("encoder.*")'],
  ["encoder.*", "step > 3", 'match("encoder.*") and step > 3'],
  ["encoder.*", "nan > 0 or inf > 0", 'match("encoder.*") and (nan > 0 or inf > 0)'],
])("one expression says the same: %s, %s", (module, condition, whole) => {
  expect(asCondition(module, condition)).toBe(whole);
});

test("filters come from the adapter, other adapters' are left out", () => {
  const offered = [
    { filter: "raised", label: "Raised Exceptions" },
    { filter: NAN, label: "NaN or Inf", description: "…" },
    { filter: 3 },
  ];
  expect(readFilters(offered)).toEqual([{ id: NAN, label: "NaN or Inf", description: "…" }]);
  const message = { type: "response", command: "initialize", body: { exceptionBreakpointFilters: offered } };
  expect(offeredFilters(message)).toHaveLength(1);
  expect(offeredFilters({ ...message, command: "launch" })).toBeUndefined();
  expect(labelOf([], "zentracer.leak")).toBe("leak");
});

test("a row says how often, on which condition, and what it found last", () => {
  const [row] = breakpointsTree([breakpoint({ source: "editor" })], [], name, true);
  expect(row?.label).toBe("NaN or Inf in encoder.*");
  expect(row?.description).toBe("×12 · if step > 10");
  expect(row?.checked).toBeUndefined();
  expect(row?.icon?.name).toBe("debug-breakpoint-conditional");
  expect(row?.children?.map((child) => child.label)).toEqual(["step 41 · rank 0", "float32[64, 64]"]);
  expect(row?.action?.args).toEqual([breakpoint().last?.origin]);
  expect(row?.tooltip).toContain("Breakpoints view");
});

test("one that was added here has a tick box and the state that the adapter told", () => {
  const item = added("encoder.*", "step > 10");
  const [row, ...rest] = breakpointsTree([breakpoint()], [item], name, true);
  expect(rest).toEqual([]);
  expect(row?.checked).toBe(true);
  expect(row?.description).toContain("×12");
  expect(keyOfRow(row?.id ?? "")).toBe(keyOf(item));
});

test("one that the program refuses says why", () => {
  const refused = breakpoint({ verified: false, message: "'stepp' is not a name of conditions.", hits: 0, last: null });
  const [row] = breakpointsTree([refused], [added("encoder.*", "step > 10")], name, true);
  expect(row?.icon?.name).toBe("debug-breakpoint-conditional-unverified");
  expect(row?.description).toBe("if step > 10");
  expect(row?.children?.map((child) => child.label)).toEqual(["'stepp' is not a name of conditions."]);
  expect(row?.expanded).toBe(true);
  expect(row?.tooltip).toContain("not active");
});

test("without a session those added here are listed, ready", () => {
  const [on, off] = breakpointsTree([], [added(null), added("a", null, false)], name, false);
  expect([on?.label, on?.icon?.name, on?.checked]).toEqual(["NaN or Inf", "debug-breakpoint", true]);
  expect([on?.expanded, on?.children?.map((child) => child.label)]).toEqual([false, ["not hit yet"]]);
  expect([off?.icon?.name, off?.checked]).toEqual(["debug-breakpoint-disabled", false]);
});
