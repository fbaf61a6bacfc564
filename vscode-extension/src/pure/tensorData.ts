// The numbers inside an answer of `zentracer/tensor`.
import type { Image } from "../wire/generated";

/** Bits of `Image.marks`. */
export const NAN = 1;
export const PLUS_INF = 2;
export const MINUS_INF = 4;
export const ZERO = 8;

/** A matrix as it is drawn; element (r, c) starts at (r * channels * width) + c * channels. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly rowStep: number;
  readonly columnStep: number;
  readonly values: Float32Array;
  readonly marks: Uint8Array;
  readonly lows: Float32Array | null;
  readonly highs: Float32Array | null;
  /** Of the finite values; null if there is none. */
  readonly range: { readonly low: number; readonly high: number } | null;
  readonly sampled: boolean;
}

/** What is marked in view. */
export interface MarkCounts {
  readonly nan: number;
  readonly plusInf: number;
  readonly minusInf: number;
  readonly zero: number;
}

/** Unpacks an image.
 *
 * @throws Error with a sentence, if there is less data than its size says.
 */
export function decodeImage(image: Image): Pixels {
  const cells = image.width * image.height;
  const values = floats(image.data);
  const marks = bytes(image.marks);
  if (values.length !== cells * image.channels || marks.length !== cells) {
    throw new Error("The picture came incomplete. Refresh it; if it stays, this is our mistake.");
  }
  const lows = image.lows === null ? null : floats(image.lows);
  const highs = image.highs === null ? null : floats(image.highs);
  return {
    width: image.width,
    height: image.height,
    channels: image.channels,
    rowStep: image.row_step,
    columnStep: image.column_step,
    values,
    marks,
    lows,
    highs,
    range: finiteRange([values, ...(lows ? [lows] : []), ...(highs ? [highs] : [])]),
    sampled: image.sampled,
  };
}

export function countMarks(marks: Uint8Array): MarkCounts {
  const found = { nan: 0, plusInf: 0, minusInf: 0, zero: 0 };
  for (const mark of marks) {
    if (mark & NAN) found.nan++;
    if (mark & PLUS_INF) found.plusInf++;
    if (mark & MINUS_INF) found.minusInf++;
    if (mark & ZERO) found.zero++;
  }
  return found;
}

/** Base64 to bytes. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** Base64 of little-endian float32 to numbers, on machines of either order. */
export function floats(text: string): Float32Array {
  const raw = bytes(text);
  const view = new DataView(raw.buffer);
  const out = new Float32Array(Math.floor(raw.length / 4));
  for (let i = 0; i < out.length; i++) out[i] = view.getFloat32(i * 4, true);
  return out;
}

function finiteRange(arrays: readonly Float32Array[]): Pixels["range"] {
  let low = Infinity;
  let high = -Infinity;
  for (const array of arrays) {
    for (const value of array) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? { low, high } : null;
}
