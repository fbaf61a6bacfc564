// How a tensor can be read as a picture, and how its numbers become bytes of colour.
import { type Slice, withAxes } from "./tensorSlice";

/** Which dimensions are height, width and colour. */
export interface ImageLayout {
  /** As it is called: NCHW, HWC … */
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly channels: number;
}

/** What becomes black and what white. */
export type Normalise = "auto" | "minmax" | "unit" | "byte";

const CHANNELS = [1, 3, 4];

/** The layouts a tensor of this shape can have, the likelier one first. */
export function imageLayouts(shape: readonly number[]): ImageLayout[] {
  const rank = shape.length;
  if (rank < 3) return [];
  const batch = rank === 3 ? "" : rank === 4 ? "N" : "…";
  const first = { name: `${batch}CHW`, channels: rank - 3, rows: rank - 2, columns: rank - 1 };
  const last = { name: `${batch}HWC`, channels: rank - 1, rows: rank - 3, columns: rank - 2 };
  const fitting = [first, last].filter((layout) => isImage(shape, layout));
  return fitting.sort((a, b) => area(shape, b) - area(shape, a));
}

/** Shows the slice's picture in a layout, at the indices it has. */
export function imageSlice(slice: Slice, layout: ImageLayout): Slice {
  return withAxes(slice.shape, slice.dims, layout);
}

/** The values that become black and white. */
export function imageRange(
  normalise: Normalise,
  dtype: string,
  low: number,
  high: number,
): [number, number] {
  switch (normalise) {
    case "unit":
      return [0, 1];
    case "byte":
      return [0, 255];
    case "minmax":
      return [low, high];
    case "auto":
      if (dtype === "uint8") return [0, 255];
      return low >= 0 && high <= 1 ? [0, 1] : [low, high];
  }
}

/** Pixels (RGBA) of an image; what is not finite is transparent. */
export function imagePixels(
  data: Float32Array,
  channels: number,
  [low, high]: readonly [number, number],
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray((data.length / channels) * 4);
  const scale = high > low ? 255 / (high - low) : 0;
  for (let i = 0, p = 0; i < data.length; i += channels, p += 4) {
    let finite = true;
    for (let c = 0; c < 4; c++) {
      const value = c < channels ? data[i + c]! : c === 3 ? high : data[i]!;
      finite &&= Number.isFinite(value);
      pixels[p + c] = high > low ? (value - low) * scale : c === 3 ? 255 : 128;
    }
    if (!finite) pixels[p + 3] = 0;
  }
  return pixels;
}

function isImage(shape: readonly number[], layout: ImageLayout): boolean {
  const { rows, columns, channels } = layout;
  return (
    CHANNELS.includes(shape[channels] ?? 0) && (shape[rows] ?? 0) > 1 && (shape[columns] ?? 0) > 1
  );
}

function area(shape: readonly number[], layout: ImageLayout): number {
  return (shape[layout.rows] ?? 0) * (shape[layout.columns] ?? 0);
}
