import { expect, test } from "vitest";
import { bad, count, percent, plural, shapeOf, short, statistics, steady } from "../../../../src/pure/statusNumbers";
import { finding } from "./examples";

test.each([
  [0.42132, "0.4213"],
  [0.4, "0.4000"],
  [12.3, "12.30"],
  [999.96, "1000"],
  [12345.6, "12346"],
  [0, "0.000"],
  [-0.5, "-0.5000"],
  [0.00012345, "1.234e-4"],
  [123456, "1.235e5"],
])("a number that changes keeps four digits: %d", (value, text) => {
  expect(steady(value)).toBe(text);
});

test.each([
  [0.4, "0.4"],
  [12, "12"],
  [1200, "1200"],
  [0, "0"],
  [2.5e-7, "2.5e-7"],
  [-1.14, "-1.14"],
])("a number that stands still has no zeros at its end: %d", (value, text) => {
  expect(short(value)).toBe(text);
});

test("shares, counts and nouns", () => {
  expect(percent(0.0178)).toBe("1.8 %");
  expect(count(100000)).toBe("100,000");
  expect([plural(1, "frame"), plural(2, "frame")]).toEqual(["1 frame", "2 frames"]);
});

test("statistics begin with what is wrong and leave out what is not known", () => {
  const { details } = finding();
  const stats = { ...details!.tensor, nan: 3, inf: 1, min: -1, max: 2.58, mean: 1.13, std: null };
  expect(statistics(stats)).toBe("3 NaN · 1 Inf · x∈[-1, 2.58] · μ 1.13");
  expect(bad({ ...stats, nan: 0, inf: null })).toBe("");
  expect(shapeOf(stats)).toBe("float32[64, 64]");
  expect(shapeOf({ ...stats, dtype: "unknown" })).toBe("");
});
