import { expect, test } from "vitest";
import { type TreeNode, changes, indexOf, parentsOf } from "../../../../src/pure/tree";
import { code, paragraphs, plain } from "../../../../src/pure/treeMarkdown";

const leaf = (id: string, description = ""): TreeNode => ({ id, label: id, description });
const branch = (id: string, ...children: TreeNode[]): TreeNode => ({ id, label: id, children });

test("rows are found by id, with the row above", () => {
  const roots = [branch("a", branch("b", leaf("c"))), leaf("d")];
  expect([...indexOf(roots).keys()]).toEqual(["a", "b", "c", "d"]);
  expect([...parentsOf(roots)]).toEqual([["b", "a"], ["c", "b"]]);
});

test("nothing is drawn again when nothing changed", () => {
  expect(changes([branch("a", leaf("b"))], [branch("a", leaf("b"))])).toEqual([]);
});

test("only the row that changed is drawn again", () => {
  const before = [branch("a", leaf("b", "1"), leaf("c")), leaf("d")];
  const after = [branch("a", leaf("b", "2"), leaf("c")), leaf("d")];
  expect(changes(before, after)).toEqual(["b"]);
});

test("a row whose children came or went is drawn again, and what is below it with it", () => {
  const before = [branch("a", leaf("b", "1"))];
  expect(changes(before, [branch("a", leaf("b", "2"), leaf("c"))])).toEqual(["a"]);
});

test("the row above is drawn again when one opens by itself, or gets its first children", () => {
  const closed = branch("a", branch("b", leaf("c")));
  const open = branch("a", { ...branch("b", leaf("c")), expanded: true });
  expect(changes([closed], [open])).toEqual(["a"]);
  expect(changes([branch("a", leaf("b"))], [closed])).toEqual(["a"]);
  expect(changes([leaf("b")], [branch("b", leaf("c"))])).toBe("all");
});

test("rows at the top that come or go draw everything", () => {
  expect(changes([leaf("a")], [leaf("a"), leaf("b")])).toBe("all");
});

test("text of programs is not taken for Markdown", () => {
  expect(plain("x*y <b> [a](b)")).toBe("x\\*y \\<b\\> \\[a\\]\\(b\\)");
  expect(code("a  `b`\n c")).toBe("`` a `b` c ``");
  expect(code(" f(x) ")).toBe("`f(x)`");
  expect(paragraphs("a", "", null, undefined, false, "b")).toBe("a\n\nb");
});
