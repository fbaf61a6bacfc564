import { describe, expect, test } from "vitest";
import {
  elementIndex,
  extent,
  fitSlice,
  initialSlice,
  isZoomed,
  parseSlice,
  partText,
  resetZoom,
  roleOf,
  setIndex,
  setRole,
  type Slice,
  sliceAxes,
  sliceText,
  swapAxes,
  zoom,
} from "../../../src/pure/tensorSlice";

describe("the first slice", () => {
  test.each([
    [[], ""],
    [[7], ":"],
    [[3, 8], ":, :"],
    [[64, 3, 32, 32], "0, 0, :, :"],
    [[2, 3, 2, 4, 3, 2, 12, 9], "0, 0, 0, 0, 0, 0, :, :"],
    [[0, 4], ":, :"],
  ])("of shape %j is [%s]", (shape, text) => {
    expect(sliceText(initialSlice(shape))).toBe(text);
  });

  test("runs a vector across", () => {
    expect(initialSlice([7])).toMatchObject({ rows: null, columns: 0 });
  });
});

describe("the index of a dimension", () => {
  const slice = initialSlice([5, 3, 8]);

  test.each([
    [2, "2, :, :"],
    [4, "4, :, :"],
    [99, "4, :, :"],
    [-1, "0, :, :"],
    [1.9, "1, :, :"],
    [Number.NaN, "0, :, :"],
  ])("set to %d gives [%s]", (index, text) => {
    expect(sliceText(setIndex(slice, 0, index))).toBe(text);
  });

  test("is not set where the dimension is an axis", () => {
    expect(setIndex(slice, 1, 2)).toBe(slice);
  });
});

describe("roles", () => {
  const slice = setIndex(initialSlice([5, 3, 8]), 0, 4);

  test("a dimension that becomes rows sends the former rows to an index", () => {
    const moved = setRole(slice, 0, "rows");
    expect(sliceText(moved)).toBe(":, 0, :");
    expect([moved.rows, moved.columns]).toEqual([0, 2]);
  });

  test("rows and columns swap when one takes the other's part", () => {
    const swapped = setRole(slice, 1, "columns");
    expect([swapped.rows, swapped.columns]).toEqual([2, 1]);
    expect(sliceAxes(swapped)).toEqual([2, 1]);
    expect(sliceText(swapped)).toBe("4, :, :");
  });

  test("an axis at an index leaves a line", () => {
    const line = setRole(slice, 1, "index");
    expect([line.rows, line.columns]).toEqual([null, 2]);
    expect(sliceText(line)).toBe("4, 0, :");
    const other = setRole(slice, 2, "index");
    expect([other.rows, other.columns]).toEqual([null, 1]);
    expect(sliceText(other)).toBe("4, :, 0");
  });

  test("the last axis stays one", () => {
    const line = setRole(slice, 1, "index");
    expect(setRole(line, 2, "index")).toBe(line);
  });

  test("a line becomes a matrix again", () => {
    const line = setRole(slice, 1, "index");
    const matrix = setRole(line, 0, "rows");
    expect(sliceText(matrix)).toBe(":, 0, :");
    expect([matrix.rows, matrix.columns]).toEqual([0, 2]);
  });

  test("each dimension knows its part", () => {
    expect([0, 1, 2].map((dim) => roleOf(slice, dim))).toEqual(["index", "rows", "columns"]);
  });

  test("axes are named to the runtime only out of order", () => {
    expect(sliceAxes(slice)).toBeNull();
    expect(sliceAxes(swapAxes(slice))).toEqual([2, 1]);
    expect(swapAxes(swapAxes(slice))).toEqual(slice);
    const vector = initialSlice([4]);
    expect(swapAxes(vector)).toBe(vector);
  });
});

describe("zoom", () => {
  const slice = initialSlice([2, 100, 200]);

  test("narrows both axes, and again from there", () => {
    const once = zoom(slice, { start: 10, stop: 50 }, { start: 100, stop: 200 });
    expect(sliceText(once)).toBe("0, 10:50, 100:200");
    expect(extent(once, "rows")).toMatchObject({ start: 10, stop: 50 });
    const twice = zoom(once, { start: 5, stop: 6 }, { start: 0, stop: 10 });
    expect(sliceText(twice)).toBe("0, 15:16, 100:110");
    expect(isZoomed(twice)).toBe(true);
    expect(sliceText(resetZoom(twice))).toBe("0, :, :");
    expect(isZoomed(resetZoom(twice))).toBe(false);
  });

  test("stays inside, and keeps at least one element", () => {
    const wide = zoom(slice, { start: -5, stop: 1000 }, { start: 199, stop: 199 });
    expect(sliceText(wide)).toBe("0, :, 199:200");
  });

  test("of swapped axes goes to the right dimensions", () => {
    const swapped = zoom(swapAxes(slice), { start: 0, stop: 7 }, { start: 1, stop: 3 });
    expect(sliceText(swapped)).toBe("0, 1:3, 0:7");
    expect(sliceAxes(swapped)).toEqual([2, 1]);
    expect([swapped.rows, swapped.columns]).toEqual([2, 1]);
  });

  test("of a line leaves rows alone", () => {
    const line = zoom(initialSlice([50]), { start: 0, stop: 1 }, { start: 20, stop: 30 });
    expect(sliceText(line)).toBe("20:30");
  });
});

describe("a slice that was written", () => {
  const round = (slice: Slice): Slice | undefined =>
    parseSlice(slice.shape, sliceText(slice), [slice.rows, slice.columns].filter((a) => a !== null));

  test("is read again as it was", () => {
    const slice = zoom(setIndex(initialSlice([4, 5, 6]), 0, 3), { start: 1, stop: 4 }, { start: 0, stop: 2 });
    expect(round(slice)).toEqual(slice);
    expect(round(swapAxes(slice))).toEqual(swapAxes(slice));
    expect(round(initialSlice([]))).toEqual(initialSlice([]));
    expect(round(initialSlice([0, 4]))).toEqual(initialSlice([0, 4]));
  });

  test("counts from the end where the runtime does", () => {
    expect(parseSlice([4, 5], "-1, 2:", [1])).toMatchObject({
      dims: [
        { kind: "at", index: 3 },
        { kind: "span", start: 2, stop: 5 },
      ],
    });
  });

  test.each([
    ["0", [4, 5], [1]],
    ["9, :", [4, 5], [1]],
    ["0, 3:99", [4, 5], [1]],
    ["0, x", [4, 5], [1]],
    ["0, ::2", [4, 5], [1]],
    ["0, 1", [4, 5], [1]],
    [":", [4, 5], [0, 1]],
  ])("[%s] is not for shape %j", (text, shape, axes) => {
    expect(parseSlice(shape, text, axes)).toBeUndefined();
  });
});

describe("a tensor of another shape", () => {
  const slice = zoom(setIndex(initialSlice([9, 20, 30]), 0, 8), { start: 2, stop: 6 }, { start: 0, stop: 30 });

  test("keeps what fits", () => {
    expect(sliceText(fitSlice(slice, [9, 20, 40]))).toBe("8, 2:6, :");
    expect(sliceText(fitSlice(slice, [3, 4, 30]))).toBe("2, :, :");
  });

  test("of another rank begins anew", () => {
    expect(sliceText(fitSlice(slice, [5]))).toBe(":");
    expect(sliceText(fitSlice(slice, []))).toBe("");
  });
});

test("an element's index is the tensor's own", () => {
  const slice = zoom(setIndex(initialSlice([9, 20, 30]), 0, 8), { start: 2, stop: 6 }, { start: 5, stop: 9 });
  expect(elementIndex(slice, 1, 3)).toEqual([8, 3, 8]);
  expect(elementIndex(swapAxes(slice), 3, 1)).toEqual([8, 3, 8]);
});

describe("a rectangle of what is shown", () => {
  const range = (start: number, stop: number) => ({ start, stop });

  test.each([
    [":, :", [0, 1], "2, 5", range(2, 3), range(5, 6)],
    [":, :", [0, 1], "0:2, 3:5", range(0, 2), range(3, 5)],
    [":, :", [1, 0], "0:2, 3:5", range(3, 5), range(0, 2)],
    ["2:6, 4:9", [0, 1], "4, 5:7", range(2, 3), range(1, 3)],
    ["2:6, 4:9", [0, 1], "5, 8", range(3, 99), range(4, 99)],
  ])("of [%s] on the axes %j is [%s]", (text, axes, part, rows, columns) => {
    expect(partText(parseSlice([8, 9], text, axes)!, rows, columns)).toBe(part);
  });

  test("keeps the index of the other dimensions; a vector has columns only", () => {
    expect(partText(setIndex(initialSlice([5, 4, 3]), 0, 2), range(1, 2), range(0, 3))).toBe("2, 1, 0:3");
    expect(partText(initialSlice([7]), range(0, 1), range(3, 5))).toBe("3:5");
    expect(partText(initialSlice([]), range(0, 1), range(0, 1))).toBe("");
  });
});
