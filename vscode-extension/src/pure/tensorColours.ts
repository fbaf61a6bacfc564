// Colour maps: perceptually uniform, so that equal steps in value are equal steps to the eye.

export type ColourMap = "viridis" | "gray" | "diverging";
/** As in the setting `zentracer.tensor.colorMap`. */
export const COLOUR_CHOICES = ["auto", "viridis", "diverging", "gray"] as const;
export type ColourChoice = (typeof COLOUR_CHOICES)[number];
export type Rgb = readonly [number, number, number];

export interface ColourScale {
  readonly map: ColourMap;
  readonly low: number;
  readonly high: number;
}

const STEPS = 256;

/**
 * The scale for values between two bounds. A diverging scale is centred at zero, so that white
 * means zero and the two signs are told apart.
 */
export function colourScale(choice: ColourChoice, low: number, high: number): ColourScale {
  const map = choice === "auto" ? (low < 0 && high > 0 ? "diverging" : "viridis") : choice;
  if (map !== "diverging") return { map, low, high };
  const reach = Math.max(Math.abs(low), Math.abs(high));
  return { map, low: -reach, high: reach };
}

/** Pixels (RGBA) of a matrix; what is not finite is transparent. */
export function heatPixels(data: Float32Array, scale: ColourScale): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(data.length * 4);
  const table = TABLES[scale.map];
  const factor = scale.high > scale.low ? (STEPS - 1) / (scale.high - scale.low) : 0;
  for (let i = 0, p = 0; i < data.length; i++, p += 4) {
    const value = data[i]!;
    if (!Number.isFinite(value)) continue;
    const step = factor ? Math.round((value - scale.low) * factor) : STEPS / 2;
    const t = 3 * Math.max(0, Math.min(STEPS - 1, step));
    pixels[p] = table[t]!;
    pixels[p + 1] = table[t + 1]!;
    pixels[p + 2] = table[t + 2]!;
    pixels[p + 3] = 255;
  }
  return pixels;
}

/** The colour at a share (0 to 1) of a map. */
export function colourAt(map: ColourMap, share: number): Rgb {
  const t = 3 * Math.round(Math.max(0, Math.min(1, share)) * (STEPS - 1));
  const table = TABLES[map];
  return [table[t]!, table[t + 1]!, table[t + 2]!];
}

// Matt Zucker's fit of matplotlib's viridis by polynomials of degree six (CC0),
// https://www.shadertoy.com/view/WlfXRN; coefficients of 1, t, t² … for red, green, blue.
const VIRIDIS: readonly Rgb[] = [
  [0.2777273272, 0.0054073445, 0.3340998053],
  [0.1050930431, 1.4046135299, 1.3845901626],
  [-0.3308618287, 0.2148475595, 0.095095163],
  [-4.634230499, -5.7991009734, -19.332440956],
  [6.2282699363, 14.1799333668, 56.6905526007],
  [4.7763849977, -13.745145377, -65.3530326334],
  [-5.4354558559, 4.6458526122, 26.3124352496],
];

// ColorBrewer's RdBu with eleven classes (Apache 2.0), reversed: negative is blue, positive is red.
const DIVERGING: readonly Rgb[] = [
  [5, 48, 97],
  [33, 102, 172],
  [67, 147, 195],
  [146, 197, 222],
  [209, 229, 240],
  [247, 247, 247],
  [253, 219, 199],
  [244, 165, 130],
  [214, 96, 77],
  [178, 24, 43],
  [103, 0, 31],
];

const TABLES: Readonly<Record<ColourMap, Uint8ClampedArray>> = {
  viridis: table((t, c) => 255 * VIRIDIS.reduceRight((sum, step) => sum * t + step[c]!, 0)),
  gray: table((t) => 255 * t),
  diverging: table((t, c) => {
    const place = t * (DIVERGING.length - 1);
    const left = Math.min(Math.floor(place), DIVERGING.length - 2);
    const from = DIVERGING[left]![c]!;
    return from + (DIVERGING[left + 1]![c]! - from) * (place - left);
  }),
};

function table(colour: (share: number, channel: number) => number): Uint8ClampedArray {
  const bytes = new Uint8ClampedArray(STEPS * 3);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = colour(Math.floor(i / 3) / (STEPS - 1), i % 3);
  }
  return bytes;
}
