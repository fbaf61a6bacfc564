import { expect, test } from "vitest";
import { isArraySummary } from "../../../src/pure/tensorSummary";

test.each([
  "float32[3, 8] cpu · x∈[-3.79, 0.063] μ=-1.14 σ=1.2 · NaN 7 · grad LogBackward0",
  "float32[] cuda:0 · …",
  "int64[12] cpu · x∈[0, 11] μ=5.5 σ=3.45",
  "bool[4] cpu · True 2 of 4",
  "float8_e4m3fn[2] cpu · x∈[0, 1] μ=0.5 σ=0.5",
  "float32 cpu · uninitialised (lazy)",
  "float32[0, 4] meta · meta: no data",
])("a tensor: %s", (value) => {
  expect(isArraySummary(value)).toBe(true);
});

test.each(["3", "'float32[3] cpu'", "<module 'torch' from …>", "Linear(in=3) · 12", "[1, 2]", ""])(
  "not one: %s",
  (value) => {
    expect(isArraySummary(value)).toBe(false);
  },
);
