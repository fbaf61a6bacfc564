import { expect, test } from "vitest";
import { behindLine, isToldByLine, topFrameOf } from "../../../../src/pure/stopLine";

test.each([
  ["function breakpoint", true],
  ["data breakpoint", true],
  ["exception", false], // has a widget
  ["breakpoint", false],
])("a stop for a %s is told behind its line: %s", (reason, expected) => {
  expect(isToldByLine({ reason, threadId: 1, text: "fc is about to run." })).toBe(expected);
});

test("the place is the top frame's, if it is in a file", () => {
  const frames = (...stackFrames: object[]): object => ({ stackFrames });
  const here = { source: { path: "/a.py" }, line: 3 };
  expect(topFrameOf(frames(here, { line: 9 }), "x")).toEqual({ path: "/a.py", line: 2, text: "x" });
  const remote = { source: { path: "vscode-remote://127.0.0.1:80/a%20b.py" }, line: 3 };
  expect(topFrameOf(frames(remote), "x")?.path).toBe("/a b.py");
  expect(topFrameOf(frames({ line: 3 }), "x")).toBeUndefined();
  expect(topFrameOf(frames(), "x")).toBeUndefined();
  expect(topFrameOf(undefined, "x")).toBeUndefined();
});

test("behind the line is one line, and a long one is cut", () => {
  expect(behindLine("a\n  b ")).toBe("a b");
  const cut = behindLine("word ".repeat(100));
  expect(cut).toHaveLength(180);
  expect(cut.endsWith("…")).toBe(true);
});
