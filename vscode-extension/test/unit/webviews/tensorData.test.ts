import { describe, expect, test } from "vitest";
import { colourAt, colourScale, heatPixels } from "../../../src/pure/tensorColours";
import { countMarks, decodeImage, floats, MINUS_INF, NAN, PLUS_INF, ZERO } from "../../../src/pure/tensorData";
import { imageLayouts, imagePixels, imageRange } from "../../../src/pure/tensorImage";
import { recorded } from "./recorded";

const logits = recorded("logits.image").image!;

describe("a recorded picture", () => {
  test("has the tensor's numbers", () => {
    const pixels = decodeImage(logits);
    expect([pixels.width, pixels.height, pixels.channels]).toEqual([4, 3, 1]);
    expect([...pixels.values.slice(0, 2)]).toEqual([0, 1.5]);
    expect(pixels.values[2]).toBeNaN();
    expect(pixels.values[3]).toBe(-2.25);
    expect(pixels.range).toEqual({ low: -2.25, high: 3 });
  });

  test("marks what is not finite, and zeros", () => {
    const { marks } = decodeImage(logits);
    expect([marks[0], marks[2], marks[6], marks[8]]).toEqual([ZERO, NAN, PLUS_INF, MINUS_INF]);
    expect(countMarks(marks)).toEqual({ nan: 1, plusInf: 1, minusInf: 1, zero: 1 });
  });

  test("of a vector has an envelope", () => {
    const pixels = decodeImage(recorded("signal.image").image!);
    expect([pixels.width, pixels.columnStep]).toEqual([10, 10]);
    expect([...pixels.values.slice(0, 2)]).toEqual([4.5, 14.5]);
    expect([...pixels.lows!.slice(0, 2)]).toEqual([0, 10]);
    expect([...pixels.highs!.slice(0, 2)]).toEqual([9, 19]);
  });

  test("that is cut short is refused with a sentence", () => {
    expect(() => decodeImage({ ...logits, data: logits.data.slice(0, 8) })).toThrow(
      "The picture came incomplete",
    );
  });

  test("is little-endian on every machine", () => {
    expect([...floats("AACAPw==")]).toEqual([1]);
  });
});

describe("colours", () => {
  test("diverge around zero where there are both signs", () => {
    expect(colourScale("auto", -1, 4)).toEqual({ map: "diverging", low: -4, high: 4 });
    expect(colourScale("auto", 0, 4)).toEqual({ map: "viridis", low: 0, high: 4 });
    expect(colourScale("gray", -1, 4)).toEqual({ map: "gray", low: -1, high: 4 });
  });

  test("are those of matplotlib's viridis, to five steps in 255", () => {
    const reference: [number, number[]][] = [
      [0, [68, 1, 84]],
      [0.25, [59, 82, 139]],
      [0.5, [33, 145, 140]],
      [0.75, [94, 201, 98]],
      [1, [253, 231, 37]],
    ];
    for (const [share, rgb] of reference) {
      const found = colourAt("viridis", share);
      rgb.forEach((value, channel) => {
        expect(Math.abs(found[channel]! - value), `${share}`).toBeLessThanOrEqual(5);
      });
    }
  });

  test("grow lighter all the way", () => {
    const light = Array.from({ length: 20 }, (_, i) => {
      const [red, green, blue] = colourAt("viridis", i / 19);
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    });
    expect(light).toEqual([...light].sort((a, b) => a - b));
  });

  test("white is zero, red is positive, blue is negative", () => {
    const pixels = heatPixels(new Float32Array([0, 2, -2]), colourScale("auto", -2, 2));
    expect(Math.min(...pixels.slice(0, 3))).toBeGreaterThan(235);
    expect(pixels[4]!).toBeGreaterThan(pixels[6]!);
    expect(pixels[8]!).toBeLessThan(pixels[10]!);
  });

  test("what is not finite is a gap", () => {
    const pixels = heatPixels(new Float32Array([Number.NaN, 1, Infinity]), colourScale("gray", 0, 1));
    expect([pixels[3], pixels[7], pixels[11]]).toEqual([0, 255, 0]);
    expect([...pixels.slice(4, 7)]).toEqual([255, 255, 255]);
  });

  test("a flat matrix has a colour", () => {
    const pixels = heatPixels(new Float32Array([3, 3]), colourScale("viridis", 3, 3));
    expect(pixels[3]).toBe(255);
  });
});

describe("pictures", () => {
  test.each([
    [[64, 3, 32, 32], ["NCHW"]],
    [[64, 32, 32, 3], ["NHWC"]],
    [[3, 32, 32], ["CHW"]],
    [[32, 32, 4], ["HWC"]],
    [[1, 28, 28, 1], ["NHWC"]],
    [[8, 3, 3, 3], ["NCHW", "NHWC"]],
    [[2, 5, 3, 16, 16], ["…CHW"]],
    [[32, 32], []],
    [[64, 16, 32, 32], []],
    [[3, 1, 32], []],
  ])("of shape %j can be %j", (shape, names) => {
    expect(new Set(imageLayouts(shape).map(({ name }) => name))).toEqual(new Set(names));
  });

  test("the layout with the larger picture comes first", () => {
    expect(imageLayouts([1, 3, 100, 4])[0]?.name).toBe("NCHW");
    expect(imageLayouts([1, 100, 100, 3])[0]?.name).toBe("NHWC");
  });

  test("bytes are bytes, shares are shares, anything else spans its range", () => {
    expect(imageRange("auto", "uint8", 3, 90)).toEqual([0, 255]);
    expect(imageRange("auto", "float32", 0.1, 0.9)).toEqual([0, 1]);
    expect(imageRange("auto", "float32", -2, 2)).toEqual([-2, 2]);
    expect(imageRange("byte", "float32", -2, 2)).toEqual([0, 255]);
  });

  test("have their colours", () => {
    const pixels = decodeImage(recorded("images.image").image!);
    expect([pixels.width, pixels.height, pixels.channels]).toEqual([5, 4, 3]);
    const bytes = imagePixels(pixels.values, 3, [0, 255]);
    expect([...bytes.slice(0, 4)]).toEqual([60, 80, 100, 255]);
  });

  test("of one channel are grey, of four have their opacity", () => {
    expect([...imagePixels(new Float32Array([0.5]), 1, [0, 1])]).toEqual([128, 128, 128, 255]);
    expect([...imagePixels(new Float32Array([1, 0, 0, 0.5]), 4, [0, 1])]).toEqual([255, 0, 0, 128]);
  });
});
