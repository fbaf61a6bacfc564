import { expect, test } from "vitest";
import { fixOf, readSuggestionId, suggestionId } from "../../../../src/pure/findingsFixes";
import { FindingsLog } from "../../../../src/pure/findingsLog";
import { isFilePath, problemText } from "../../../../src/pure/findingsProblems";
import { badge, findingsTree, headline } from "../../../../src/pure/findingsTree";
import type { Finding } from "../../../../src/wire/generated";
import { finding, location } from "./examples";

const notEdited = (): boolean => false;

function logOf(...findings: Finding[]): FindingsLog {
  const log = new FindingsLog();
  log.update("s1", "Train", findings);
  return log;
}

test("what an ended session found stays until the next one starts", () => {
  const log = logOf(finding());
  log.endAllBut(new Set());
  expect(log.items()).toHaveLength(1);
  log.update("s2", "Again", []);
  expect(log.items()).toEqual([]);
});

test("a second session beside a live one takes nothing away", () => {
  const log = logOf(finding());
  log.endAllBut(new Set(["s1"]));
  log.update("s2", "Other", [finding()]);
  expect(log.items().map((item) => item.sessionName)).toEqual(["Train", "Other"]);
});

test("a cleared finding comes back when it is found again, or by a restart", () => {
  const log = logOf(finding({ count: 2 }));
  log.clear();
  log.update("s1", "Train", [finding({ count: 2 })]);
  expect(log.items()).toEqual([]);
  log.update("s1", "Train", [finding({ count: 3 })]);
  expect(log.items()).toHaveLength(1);
  log.clear();
  log.update("s1", "Train", []);
  log.update("s1", "Train", [finding({ count: 1 })]);
  expect(log.items()).toHaveLength(1);
});

test("a row is short: what, then where, when and how often", () => {
  const [row] = findingsTree(logOf(finding()).items(), notEdited);
  expect(row?.label).toBe("Inf in output of encoder.layers.3");
  expect(row?.description).toBe("train.py:12 · step 41 · ×12 · rank 0");
  expect(row?.icon).toEqual({ name: "error", colour: "problemsErrorIcon.foreground" });
  const [warning] = findingsTree(logOf(finding({ severity: "warning" })).items(), notEdited);
  expect(warning?.icon?.name).toBe("warning");
});

test.each([
  [
    "NaN in gradient made by SqrtBackward0 in ContrastiveLoss (backward, step 163): 1 of 64 elements; made at f.py:6",
    "ContrastiveLoss",
    "NaN in gradient of sqrt",
  ],
  ["NaN in parameter fc.weight (update, step 3): 1 of 4 elements", null, "NaN in parameter fc.weight"],
  ["NaN in gradient made by NativeLayerNormBackward0 (backward): 1 of 4", null, "NaN in gradient of native_layer_norm"],
  ["NaN in gradient made by MyBackward (backward): 1 of 4", null, "NaN in gradient of MyBackward"],
  ["Something else entirely", null, "Something else entirely"],
])("a sentence in short: %s", (message, module, short) => {
  const { details } = finding();
  const [item] = logOf(finding({ message, details: { ...details!, module } })).items();
  expect(headline(item!)).toBe(short);
});

test("below a finding: what to try, where the program stands, the tensors, the stack", () => {
  const { details } = finding();
  const suggestion = {
    title: "Add 1e-8 under the root",
    why: "Because.",
    edit: { path: "/project/train.py", line: 12, old_text: "  a", new_text: "  b" },
  };
  const changed = {
    ...details!,
    source: location("/project/train.py", 80, "    loss.backward()"),
    suggestions: [suggestion, { title: "Lower the rate", why: "It is high.", edit: null }],
    inputs: [{ ...details!.tensor, name: "x", min: 0, max: 1 }],
    finite_before: "The inputs were finite.",
    note: null,
    stack: [],
  };
  const [row] = findingsTree(logOf(finding({ details: changed })).items(), notEdited);
  expect(row?.context).toBe("finding.fix");
  expect(row?.children?.map((child) => [child.label, child.context])).toEqual([
    ["Add 1e-8 under the root", "finding.fix"],
    ["Lower the rate", "suggestion"],
    ["stands at line 80", undefined],
    ["x", undefined],
    ["x", undefined],
    ["x was made here", undefined],
    ["conv [8, 3] -> flatten [24]", undefined],
    ["Evidence", undefined],
    ["Comes from", undefined],
    ["Goes to", undefined],
    ["The inputs were finite.", undefined],
    ["Stack", undefined],
  ]);
  const stack = row?.children?.at(-1);
  expect(stack?.description).toBe("1 frame");
  expect(stack?.children?.[0]?.action?.id).toBe("zentracer.openLocation");
  expect(new Set(row?.children?.map((child) => child.id)).size).toBe(12);
  expect(row?.children?.[5]?.action?.id).toBe("zentracer.openLocation");
  expect(row?.children?.[6]?.action).toBeUndefined();
});

test("an error of the framework's is told by its kind and in its own sentence", () => {
  const { details } = finding();
  const message = "h is [8, 1152]: its last dimension is 1152, but fc (Linear) wants 512 there.";
  const changed = { ...details!, filter: "zentracer.error", module: "fc" };
  const [item] = logOf(finding({ label: "Shape mismatch", message, details: changed })).items();
  expect(headline(item!)).toBe(`Shape mismatch: ${message}`);
});

test("groups appear only where there are several", () => {
  const other = finding({ rule: "zentracer.leak", label: "Memory leak" });
  const rows = findingsTree(logOf(finding(), other).items(), notEdited);
  expect(rows.map((row) => [row.label, row.description])).toEqual([["NaN or Inf", "1"], ["Memory leak", "1"]]);
  const log = logOf(finding());
  log.update("s2", "Other", [finding()]);
  expect(findingsTree(log.items(), notEdited).map((row) => row.label)).toEqual(["Train", "Other"]);
});

test("the badge counts, and is gone when there is nothing", () => {
  expect(badge(logOf(finding()).items(), notEdited)).toEqual({ value: 1, tooltip: "ZenTracer: 1 finding" });
  expect(badge([], notEdited)).toBeUndefined();
});

test("a finding whose line was edited says so, and counts no longer", () => {
  const { details } = finding();
  const suggestions = [{ title: "Edit", why: "…", edit: EDIT }];
  const items = logOf(finding({ details: { ...details!, suggestions } })).items();
  const [row] = findingsTree(items, () => true);
  expect(row?.description).toBe("edited · train.py:12 · step 41 · ×12 · rank 0");
  expect(row?.context).toBe("finding");
  expect(badge(items, () => true)).toBeUndefined();
});

test("the id of a suggestion's row leads back to it", () => {
  const key = JSON.stringify(["s1", "a:suggestion:b", 3]);
  expect(readSuggestionId(suggestionId(key, 2))).toEqual({ key, index: 2 });
  expect(readSuggestionId(key)).toEqual({ key, index: undefined });
});

const EDIT = { path: "/p/a.py", line: 2, old_text: "  y = sqrt(x)", new_text: "  y = sqrt(x + 1e-8)" };
const lines = (...text: string[]): { lineCount: number; textAt: (line: number) => string } => ({
  lineCount: text.length,
  textAt: (line) => text[line] ?? "",
});

test("an edit fits where the line still reads as it did, space at its end aside", () => {
  expect(fixOf(EDIT, lines("", "  y = sqrt(x)  "), undefined)).toEqual({ kind: "fits", line: 1, newText: EDIT.new_text });
});

test("an edit follows its line", () => {
  expect(fixOf(EDIT, lines("", "", "  y = sqrt(x)"), undefined)).toMatchObject({ kind: "fits", line: 2 });
  const twice = lines("  y = sqrt(x)", "", "  y = sqrt(x)");
  expect(fixOf(EDIT, twice, 2)).toMatchObject({ kind: "fits", line: 2 });
});

test("an edit that no longer fits says why", () => {
  expect(fixOf(EDIT, lines("", "  y = x"), undefined)).toEqual({
    kind: "refused",
    reason: "a.py:2 was edited since; it no longer reads “y = sqrt(x)”.",
  });
  expect(fixOf(EDIT, lines("  y = sqrt(x)", "", "  y = sqrt(x)"), undefined)).toEqual({
    kind: "refused",
    reason: "a.py:2 has moved, and several lines read “y = sqrt(x)”.",
  });
  expect(fixOf(EDIT, undefined, undefined)).toEqual({ kind: "refused", reason: "a.py is not on this machine." });
});

test("a problem says what to try only where no light bulb can", () => {
  const { details } = finding();
  const tips = [
    { title: "Lower the rate", why: "It is high.", edit: null },
    { title: "Edit", why: "…", edit: EDIT },
  ];
  const text = problemText(finding({ message: "NaN.", details: { ...details!, suggestions: tips } }));
  expect(text).toBe("NaN.\nTry: Lower the rate. It is high.");
});

test.each([
  ["/a.py", true],
  ["C:\\a.py", true],
  ["\\\\host\\a.py", true],
  ["<string>", false],
  ["a.py", false],
])("paths that can be files: %s", (path, is) => {
  expect(isFilePath(path)).toBe(is);
});
