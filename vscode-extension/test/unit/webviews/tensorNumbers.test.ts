import { expect, test } from "vitest";
import { asPython, byteCount, count, exact, numberOf, short, ticks } from "../../../src/pure/tensorNumbers";

test.each([
  [0, "0"],
  [1, "1"],
  [-0.0401412, "−0.04014"],
  [0.5, "0.5"],
  [41646.12, "41646"],
  [123456, "123456"],
  [1234567, "1.235e6"],
  [0.0001234567, "1.235e−4"],
  [0.001, "0.001"],
  [99999.6, "100000"],
  [null, "–"],
  [Number.NaN, "NaN"],
  [-Infinity, "−∞"],
])("%s is short as %s", (value, text) => {
  expect(short(value)).toBe(text);
});

test("exact numbers keep all digits", () => {
  expect(exact(-0.0401412345678)).toBe("-0.0401412345678");
  expect(exact(null)).toBe("not known");
});

test("counts and bytes", () => {
  expect([count(16777216), count(null)]).toEqual(["16,777,216", "–"]);
  expect([96, 16384, 786432, 67108864, 1.2e12].map(byteCount)).toEqual([
    "96 B",
    "16.4 kB",
    "786 kB",
    "67.1 MB",
    "1.2 TB",
  ]);
});

test.each([
  [0, 1, 4, [0, 0.5, 1]],
  [-2.25, 3, 5, [-2, 0, 2]],
  [0, 63, 6, [0, 20, 40, 60]],
  [5, 5, 4, [5]],
  [0, Infinity, 4, [0]],
])("ticks of %d to %d", (low, high, wanted, found) => {
  expect(ticks(low, high, wanted)).toEqual(found);
});

test("texts of the wire are numbers", () => {
  expect([numberOf("1.5"), numberOf("-inf"), numberOf("inf"), numberOf("0")]).toEqual([
    1.5,
    -Infinity,
    Infinity,
    0,
  ]);
  expect([numberOf("nan"), numberOf(""), numberOf("True")].every(Number.isNaN)).toBe(true);
});

test.each([
  [" 0.5 ", "0.5"],
  ["−2", "-2"],
  ["nan", 'float("nan")'],
  ["-Inf", 'float("-inf")'],
  ["−∞", 'float("-inf")'],
  ["x.mean()", "x.mean()"],
  ["nano", "nano"],
])("%j as it is typed is %j in Python", (typed, python) => {
  expect(asPython(typed)).toBe(python);
});
