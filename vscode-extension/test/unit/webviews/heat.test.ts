import { describe, expect, test, vi } from "vitest";
import { decodeImage, type Pixels } from "../../../src/pure/tensorData";
import { initialSlice, setIndex } from "../../../src/pure/tensorSlice";
import {
  cellAt,
  cellBox,
  HEAT_MARGINS,
  heatLayout,
  IMAGE_MARGINS,
  imageLayout,
} from "../../../webviews/tensor/heatLayout";
import { Picture } from "../../../webviews/tensor/picture";
import { readout } from "../../../webviews/tensor/readout";
import { enlarged } from "../../../webviews/shared/marks";
import { binText, share } from "../../../webviews/tensor/histogram";
import { recorded } from "./recorded";

const PLACE = { width: 700, height: 500 };
const LOGITS = decodeImage(recorded("logits.image").image!);

function pixels(width: number, height: number, rowStep = 1, columnStep = 1): Pixels {
  return { ...LOGITS, width, height, rowStep, columnStep };
}

describe("a heat map", () => {
  test("has square cells of whole pixels where they can be seen", () => {
    const layout = heatLayout(PLACE, HEAT_MARGINS, pixels(32, 20));
    expect([layout.cellWidth, layout.cellHeight]).toEqual([17, 17]);
    expect([layout.width, layout.height]).toEqual([17 * 32, 17 * 20]);
  });

  test("is stretched where it is long and thin", () => {
    const layout = heatLayout(PLACE, HEAT_MARGINS, pixels(256, 4));
    expect([layout.cellWidth, layout.cellHeight]).toEqual([2, 8]);
  });

  test("shrinks to its place", () => {
    const layout = heatLayout(PLACE, HEAT_MARGINS, pixels(1000, 1000));
    expect(layout.width).toBeLessThanOrEqual(PLACE.width - HEAT_MARGINS.left - HEAT_MARGINS.right);
    expect(layout.height).toBeLessThanOrEqual(PLACE.height - HEAT_MARGINS.top);
  });

  test("knows the cell at a point, and none outside", () => {
    const layout = heatLayout(PLACE, HEAT_MARGINS, pixels(8, 3));
    const box = cellBox(layout, 2, 5);
    expect(cellAt(layout, box.x, box.y)).toEqual({ row: 2, column: 5 });
    expect(cellAt(layout, box.x + box.width - 0.1, box.y + box.height - 0.1)).toEqual({ row: 2, column: 5 });
    expect(cellAt(layout, layout.x - 1, layout.y)).toBeUndefined();
    expect(cellAt(layout, layout.x + layout.width, layout.y)).toBeUndefined();
  });

  test("makes a lone NaN among thousands large enough to see", () => {
    const cell = { x: 10, y: 10, width: 1, height: 1 };
    expect(enlarged(cell, 1)).toEqual({ x: 7, y: 7, width: 7, height: 7 });
    expect(enlarged(cell, 5000)).toBe(cell);
  });
});

test("a picture keeps its proportions, whatever was left out", () => {
  const layout = imageLayout(PLACE, IMAGE_MARGINS, pixels(100, 100, 2, 1));
  expect(layout.width * 2).toBeCloseTo(layout.height);
});

describe("the line about a cell", () => {
  const slice = setIndex(initialSlice([5, 3, 4]), 0, 2);

  test("has its index and its value", () => {
    expect(readout(slice, LOGITS, { row: 0, column: 3 }, undefined)).toEqual({
      index: "[2, 0, 3]",
      value: "-2.25",
    });
    expect(readout(slice, LOGITS, { row: 0, column: 3 }, "-2.2500001").value).toBe("-2.2500001");
    expect(readout(slice, LOGITS, { row: 1, column: 2 }, undefined).value).toBe("+Inf");
  });

  test("has the ranges and the mean of a block", () => {
    const block = { ...LOGITS, rowStep: 2, columnStep: 10 };
    const wide = initialSlice([5, 38]);
    expect(readout(wide, block, { row: 0, column: 3 }, undefined)).toEqual({
      index: "[0:2, 30:38]",
      value: "mean −2.25",
    });
    expect(readout(wide, block, { row: 0, column: 2 }, undefined).value).toBe("nothing finite, has NaN");
  });
});

describe("a histogram", () => {
  const counts = recorded("logits.histogram").histogram!;

  test("names the range of a bin", () => {
    expect(binText(counts, 0)).toBe("−2.25 … −1.594");
    expect(binText(counts, 7)).toBe("2.344 … 3");
    expect(binText({ ...counts, low: 1, high: 1, counts: [4] }, 0)).toBe("1");
  });

  test("shows one among many on a log scale, and nothing for none", () => {
    expect(share(1, 1e6, false)).toBeLessThan(0.001);
    expect(share(1, 1e6, true)).toBeGreaterThan(0.04);
    expect(share(0, 1e6, true)).toBe(0);
    expect(share(1e6, 1e6, true)).toBe(1);
  });
});

test("a canvas that the system takes away says so until it is back", async () => {
  const picture = new Picture();
  document.body.replaceChildren(picture);
  await picture.updateComplete;
  const canvas = picture.renderRoot.querySelector("canvas")!;
  canvas.dispatchEvent(new Event("contextlost", { cancelable: true }));
  await picture.updateComplete;
  expect(picture.renderRoot.textContent).toContain("The graphics were reset by the system");
  canvas.dispatchEvent(new Event("contextrestored"));
  await vi.waitFor(() => {
    expect(picture.renderRoot.textContent).not.toContain("The graphics were reset");
  });
});
