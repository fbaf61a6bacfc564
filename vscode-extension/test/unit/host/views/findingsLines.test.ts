import { expect, test } from "vitest";
import { type Change, follow, locate } from "../../../../src/pure/findingsLines";

/** Applies one replacement as an editor does, and follows line `line` through it. */
function followed(before: string, line: number, from: [number, number], to: [number, number], text: string) {
  const rows = before.split("\n");
  const head = [...rows.slice(0, from[0]), (rows[from[0]] ?? "").slice(0, from[1])].join("\n");
  const tail = [(rows[to[0]] ?? "").slice(to[1]), ...rows.slice(to[0] + 1)].join("\n");
  const after = `${head}${text}${tail}`.split("\n");
  const change: Change = {
    startLine: from[0],
    startCharacter: from[1],
    endLine: to[0],
    endCharacter: to[1],
    text,
  };
  const tracked = { line, text: (rows[line] ?? "").trimEnd() };
  return follow(tracked, [change], { lineCount: after.length, textAt: (at) => after[at] ?? "" })?.line;
}

const TEXT = "one\n  two  \nthree\ntwo";

test.each([
  ["lines put in above", [0, 3], [0, 3], "\na\nb", 3],
  ["a line put in at its start", [1, 0], [1, 0], "new\n", 2],
  ["the line above removed", [0, 0], [1, 0], "", 0],
  ["a break at the end of the line above", [0, 3], [0, 3], "\n", 2],
  ["a break at its own end", [1, 7], [1, 7], "\n", 1],
  ["an edit above that keeps the number of lines", [0, 0], [0, 3], "ONE", 1],
  ["an edit below", [2, 0], [2, 5], "", 1],
  ["the space at its end removed", [1, 5], [1, 7], "", 1],
  ["the whole text written again by a formatter", [0, 0], [3, 3], TEXT, 1],
] as const)("a line is followed through %s", (_, from, to, text, line) => {
  expect(followed(TEXT, 1, [...from], [...to], text)).toBe(line);
});

test.each([
  ["a character typed in it", [1, 3], [1, 3], "x"],
  ["something put at its end", [1, 5], [1, 5], "x"],
  ["a break in its middle", [1, 3], [1, 3], "\n"],
  ["a change of its indentation", [1, 0], [1, 1], ""],
  ["the line itself removed", [1, 0], [2, 0], ""],
  ["the line below joined to it", [1, 7], [2, 0], "x"],
  ["the end of the line above joined to it", [0, 3], [1, 0], ""],
  ["everything removed", [0, 0], [3, 3], ""],
] as const)("a line is given up after %s", (_, from, to, text) => {
  expect(followed(TEXT, 1, [...from], [...to], text)).toBeUndefined();
});

test("several changes at once come from the bottom to the top", () => {
  const after = ["new", "one", "two", "new"];
  const changes: Change[] = [
    { startLine: 1, startCharacter: 3, endLine: 1, endCharacter: 3, text: "\nnew" },
    { startLine: 0, startCharacter: 0, endLine: 0, endCharacter: 0, text: "new\n" },
  ];
  const lines = { lineCount: 4, textAt: (at: number) => after[at] ?? "" };
  expect(follow({ line: 1, text: "two" }, changes, lines)?.line).toBe(2);
});

test("a line is found by its text when the file was edited unseen", () => {
  const lines = (...text: string[]) => ({ lineCount: text.length, textAt: (at: number) => text[at] ?? "" });
  expect(locate(lines("a", "b"), 1, "b")).toBe(1);
  expect(locate(lines("x", "a", "b "), 1, "b")).toBe(2);
  expect(locate(lines("b", "a", "b"), 1, "b")).toBeUndefined();
  expect(locate(lines("a"), 0, "b")).toBeUndefined();
  expect(locate(lines("a"), 0, null)).toBe(0);
  expect(locate(lines("a"), 5, null)).toBeUndefined();
});
