/** Numbers as people read them: short, and of the same width from one step to the next. */
import type { Stats } from "../wire/generated";

const DIGITS = 4;

/** Four significant digits, zeros at the end kept, so that a value that changes does not jump. */
export function steady(value: number): string {
  if (value === 0) return "0.000";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e5) return value.toExponential(DIGITS - 1).replace("e+", "e");
  if (size >= 1e3) return value.toFixed(0);
  return value.toPrecision(DIGITS);
}

/** At most four significant digits. */
export function short(value: number): string {
  const text = steady(value);
  const [mantissa = text, exponent] = text.split("e");
  const bare = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return exponent === undefined ? bare : `${bare}e${exponent}`;
}

/** A share as `1.8 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** A whole number with its thousands apart. */
export function count(value: number): string {
  return value.toLocaleString("en-GB", { maximumFractionDigits: 0 });
}

/** `1 module`, `2 modules`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** `float32[64, 3]`; empty when nothing is known of the tensor. */
export function shapeOf(stats: Stats): string {
  return stats.dtype === "unknown" ? "" : `${stats.dtype}[${stats.shape.join(", ")}]`;
}

/** `1 NaN · x∈[0, 2.58] · μ 1.13 · σ 0.875`: what is wrong first, then the finite elements. */
export function statistics(stats: Stats): string {
  const { min, max, mean, std } = stats;
  return [
    bad(stats),
    min !== null && max !== null ? `x∈[${short(min)}, ${short(max)}]` : "",
    mean !== null ? `μ ${short(mean)}` : "",
    std !== null ? `σ ${short(std)}` : "",
    stats.sampled ? "sampled" : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

/** `1 NaN · 2 Inf`, or nothing. */
export function bad(stats: Stats): string {
  const found = [stats.nan ? `${count(stats.nan)} NaN` : "", stats.inf ? `${count(stats.inf)} Inf` : ""];
  return found.filter((part) => part !== "").join(" · ");
}
