// The history of a watched expression, as a chart: where its points are and what they say.
import type { History, HistoryPoint } from "../wire/generated";
import { count, short } from "./tensorNumbers";

/** What the line shows of a tensor; of a number it is the number. */
export const LINES = ["deviation", "range", "norm"] as const;
export type LineChoice = (typeof LINES)[number];

export interface Chart {
  /** What the points lie at: training steps, stops, or just one after the other. */
  readonly axis: "step" | "stop" | "point";
  readonly xs: readonly number[];
  /** NaN where there is no finite number. */
  readonly ys: readonly number[];
  /** Around the line; as long as it. Empty if there is none. */
  readonly lows: readonly number[];
  readonly highs: readonly number[];
  /** Of all that is drawn. */
  readonly range: { readonly low: number; readonly high: number };
  readonly points: readonly HistoryPoint[];
}

/** One point alone is no history. */
export function hasHistory(history: History | null | undefined): history is History {
  return (history?.points.length ?? 0) > 1;
}

export function chartOf(history: History, line: LineChoice): Chart {
  const { points } = history;
  const isNorm = history.kind === "tensor" && line === "norm";
  const ys = points.map((point) => (isNorm ? point.norm : point.value) ?? Number.NaN);
  const [lows, highs] = history.kind === "tensor" && !isNorm ? band(points, line) : [[], []];
  return { ...places(points), ys, lows, highs, range: rangeOf([ys, lows, highs]), points };
}

/** The number of the point that is nearest to a place on the axis. */
export function nearest(chart: Chart, x: number): number {
  let found = 0;
  chart.xs.forEach((one, i) => {
    if (Math.abs(one - x) < Math.abs(chart.xs[found]! - x)) found = i;
  });
  return found;
}

/** What is known of one point, on one line. */
export function pointText(history: History, i: number): string {
  const point = history.points[i];
  if (!point) return "";
  const parts = [
    ...(point.step === null ? [] : [`step ${point.step}`]),
    ...numbers(history, point),
    ...(point.bad ? [`NaN or Inf ${count(point.bad)}`] : []),
    ...(point.stop === null ? [] : [`stop ${point.stop} at ${placeText(history, point)}`]),
  ];
  return parts.join(" · ");
}

/** What a screen reader says of the picture. */
export function describe(history: History, chart: Chart, line: LineChoice): string {
  const finite = chart.ys.filter(Number.isFinite);
  const stops = history.points.filter((point) => point.stop !== null).length;
  const [from, to] = [Math.floor(chart.xs[0] ?? 0), Math.floor(chart.xs.at(-1) ?? 0)];
  const across = `${history.points.length} points, ${stops} of them stops`;
  const when = `${chart.axis} ${from} to ${chart.axis} ${to}`;
  if (!finite.length) return `History: ${across}, ${when}; none of them finite.`;
  const name = history.kind === "scalar" ? "value" : line === "norm" ? "norm" : "mean";
  return (
    `History of the ${name}: ${across}, ${when}. From ${short(finite[0]!)} to ` +
    `${short(finite.at(-1)!)}; lowest ${short(least(finite))}, highest ${short(most(finite))}. ` +
    "Arrow keys move between points."
  );
}

function numbers(history: History, point: HistoryPoint): string[] {
  if (history.kind === "scalar") return point.value === null ? [] : [short(point.value)];
  if (point.value === null) return [];
  const spread = point.std === null ? "" : ` ± ${short(point.std)}`;
  return [
    `mean ${short(point.value)}${spread}`,
    `${short(point.low)} … ${short(point.high)}`,
    `norm ${short(point.norm)}`,
  ];
}

function placeText(history: History, point: HistoryPoint): string {
  const file = history.path.split(/[\\/]/).at(-1) ?? "";
  return point.line === null ? file : `${file}:${point.line}`;
}

/**
 * Steps if all are known and there were some. A point at the end of a step lies at its number; stops after it lie
 * before the next one, in their order.
 */
function places(points: readonly HistoryPoint[]): Pick<Chart, "axis" | "xs"> {
  const steps = points.map((point) => point.step);
  if (steps.every((step) => step !== null) && new Set(steps).size > 1) {
    return { axis: "step", xs: spread(steps) };
  }
  const stops = points.map((point) => point.stop);
  if (stops.every((stop) => stop !== null)) return { axis: "stop", xs: stops };
  return { axis: "point", xs: points.map((_, i) => i + 1) };
}

function spread(steps: readonly number[]): number[] {
  const among = new Map<number, number>();
  for (const step of steps) among.set(step, (among.get(step) ?? 0) + 1);
  const before = new Map<number, number>();
  return steps.map((step) => {
    const nth = before.get(step) ?? 0;
    before.set(step, nth + 1);
    return step + nth / (among.get(step) ?? 1);
  });
}

function band(points: readonly HistoryPoint[], line: LineChoice): [number[], number[]] {
  if (line === "range") {
    return [
      points.map((point) => point.low ?? Number.NaN),
      points.map((point) => point.high ?? Number.NaN),
    ];
  }
  const around = (sign: number): number[] =>
    points.map(({ value, std }) => (value === null ? Number.NaN : value + sign * (std ?? 0)));
  return [around(-1), around(1)];
}

function rangeOf(series: readonly (readonly number[])[]): Chart["range"] {
  const finite = series.flatMap((one) => one.filter(Number.isFinite));
  return finite.length ? { low: least(finite), high: most(finite) } : { low: 0, high: 1 };
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function most(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}
