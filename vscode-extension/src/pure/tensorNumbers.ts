// How numbers read in the panel: short where they are looked at, exact on hover and on copy.

const DIGITS = 4;
const TYPOGRAPHIC_MINUS = "\u2212";

/** Four significant digits. */
export function short(value: number | null): string {
  if (value === null) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${TYPOGRAPHIC_MINUS}∞`;
  return minus(shortDigits(value));
}

/** All digits, as a program would read them. */
export function exact(value: number | null): string {
  return value === null ? "not known" : String(value);
}

/** A count with thousands marked. */
export function count(value: number | null): string {
  return value === null ? "–" : value.toLocaleString("en");
}

/** `768 kB`: powers of 1000, as in the Variables view. */
export function byteCount(bytes: number): string {
  let size = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (size < 1000) return `${trimmed(size.toPrecision(3))} ${unit}`;
    size /= 1000;
  }
  return `${trimmed(size.toPrecision(3))} TB`;
}

/** Round numbers that divide a range: about `wanted` of them, inside it. */
export function ticks(low: number, high: number, wanted: number): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const found: number[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    found.push(Number((n * step).toPrecision(12)));
  }
  return found;
}

/** The number that a text of the wire shows; NaN where it is none. */
export function numberOf(text: string): number {
  const plain = text.trim().toLowerCase();
  if (/^[+-]?inf(inity)?$/.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  return plain === "" ? Number.NaN : Number(plain);
}

/** What was typed for a value, as Python: `nan` and `-inf` are typed as they are shown. */
export function asPython(typed: string): string {
  const text = typed.trim().replaceAll(TYPOGRAPHIC_MINUS, "-").replace("∞", "inf");
  return /^[+-]?(nan|inf|infinity)$/i.test(text) ? `float("${text.toLowerCase()}")` : text;
}

function shortDigits(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) {
    const [mantissa = "", power = ""] = value.toExponential(DIGITS - 1).split("e");
    return `${trimmed(mantissa)}e${power.replace("+", "")}`;
  }
  if (size >= 10 ** (DIGITS - 1)) return String(Math.round(value));
  return Number.isInteger(value) ? String(value) : trimmed(value.toPrecision(DIGITS));
}

function trimmed(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

function minus(text: string): string {
  return text.replaceAll("-", TYPOGRAPHIC_MINUS);
}
