import { expect, test } from "vitest";
import { functionName, isSameNamed, momentOf, stepsOf } from "../../../../src/pure/functionBreakpoints";
import { operations, typedOperation } from "../../../../src/pure/operations";

test("two stop at the same moments if their names and limits are the same", () => {
  const one = { functionName: functionName("module", "encoder.*") };
  expect(one.functionName).toBe("module:encoder.*");
  expect(isSameNamed(one, { ...one, condition: "", hitCondition: undefined })).toBe(true);
  expect(isSameNamed(one, { ...one, condition: "nan > 0" })).toBe(false);
  expect(isSameNamed(one, { ...one, hitCondition: "5" })).toBe(false);
  expect(isSameNamed(one, { functionName: functionName("backward", "encoder.*") })).toBe(false);
});

test.each([
  ["", "step", undefined],
  [" 120 ", "step:120", undefined],
  ["every 100", "step", "every 100 steps"],
  ["every 1 step", "step", "every 1 steps"],
  ["% 5", "step", "every 5 steps"],
])("“%s” is the breakpoint %s with the hits %s", (typed, name, hitCondition) => {
  expect(stepsOf(typed)).toEqual({ name, hitCondition });
});

test.each(["x", "-3", "every", "every 0", "12 13"])("“%s” is no step", (typed) => {
  expect(stepsOf(typed)).toContain("such as 120");
});

test("an operation is offered once, with its other spellings", () => {
  const names = operations().map((operation) => operation.name);
  expect(new Set(names).size).toBe(names.length);
  const softmax = operations().find((operation) => operation.label === "softmax");
  expect(softmax?.name).toBe("torch.softmax");
  expect(softmax?.spellings).toBe("torch.softmax · F.softmax · x.softmax() · aten.softmax");
  expect(names).toContain("F.scaled_dot_product_attention");
  expect(names).toContain("linalg.norm");
  expect(names.filter((name) => name.includes("backward") || name.endsWith("_"))).toEqual([]);
});

test("what is typed can be used, unless a row has it", () => {
  expect(typedOperation("*norm*")).toBe("*norm*");
  expect(typedOperation("op:mylib.fused")).toBe("mylib.fused");
  expect(typedOperation("torch.log")).toBeUndefined();
  expect(typedOperation("log")).toBeUndefined();
  expect(typedOperation(" ")).toBeUndefined();
  expect(typedOperation("two words")).toBeUndefined();
});

test.each([
  ["module:fc", undefined, undefined, "The program stops before fc runs"],
  ["backward:fc", "norm > 1", undefined, "The program stops when the gradients of fc arrive, if norm > 1"],
  ["op:torch.log", undefined, ">= 3", "The program stops at each call of torch.log, >= 3"],
  ["step", undefined, "every 100 steps", "The program stops at the end of steps, every 100 steps"],
  ["step:120", undefined, undefined, "The program stops at the end of step 120"],
])("%s if %s, %s: %s", (name, condition, hitCondition, text) => {
  expect(momentOf({ functionName: name, condition, hitCondition })).toBe(text);
});
