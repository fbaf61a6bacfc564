import { expect, test } from "vitest";
import { expressionAt } from "../../../src/pure/expression";
import { inspected } from "../../../src/pure/inspectArgument";

/** The line has a `|` where the cursor is. */
function at(line: string): string | undefined {
  const offset = line.indexOf("|");
  return expressionAt(line.replace("|", ""), offset);
}

test.each([
  ["y = self.layers[0].wei|ght", "self.layers[0].weight"],
  ["y = self.lay|ers[0].weight", "self.layers"],
  ["y = se|lf.layers[0].weight", "self"],
  ["y = self.layers[|0].weight", "self.layers[0]"],
  ["y = self.layers[0|].weight", "self.layers[0]"],
  ["y = self.layers|[0].weight", "self.layers"],
  ["y = x[i|]", "i"],
  ["y = x[i, :, 2]|", "x[i, :, 2]"],
  ["logits = model(x|)", "x"],
  ["log|its = model(x)", "logits"],
  ["|logits", "logits"],
  ["logits|", "logits"],
  ["a['key|'].b", undefined],
  ["a['key'].b|", "a['key'].b"],
  ["a[b[0]].c|", "a[b[0]].c"],
  ["größe|", "größe"],
  ["x # comm|ent", undefined],
  ["'te|xt'", undefined],
  ["f(x)|", undefined],
  ["f(x).gr|ad", undefined],
  ["f(x)[0].gr|ad", undefined],
  ["xs[f(0)].gr|ad", undefined],
  ["if x:  |", undefined],
  ["fo|r x in y:", undefined],
  ["3 + 4|", undefined],
  ["", undefined],
])("in %s it is %s", (line, found) => {
  expect(line ? at(line) : expressionAt("", 0)).toBe(found);
});

test("each menu's argument is understood", () => {
  const container = { expensive: false };
  expect(inspected({ container, variable: { name: "w", evaluateName: "self.w" } })).toEqual({
    from: "expression",
    expression: "self.w",
  });
  expect(inspected({ container, variable: { name: "0", value: "float32[3]" } })).toEqual({
    from: "nameless",
    name: "0",
  });
  expect(inspected({ variable: { name: "x.grad" } })).toEqual({
    from: "expression",
    expression: "x.grad",
  });
  expect(inspected("x")).toEqual({ from: "expression", expression: "x" });
  expect(inspected({ scheme: "file", path: "/a.py" })).toEqual({ from: "editor" });
  expect(inspected(undefined)).toEqual({ from: "palette" });
});
