/** The history as a line with a band around it; stops are dots. */
import {
  type Chart,
  chartOf,
  describe,
  type LineChoice,
  nearest,
  pointText,
} from "../../src/pure/tensorHistory";
import { short, ticks } from "../../src/pure/tensorNumbers";
import type { History } from "../../src/wire/generated";
import { CanvasPlot, type Size } from "../shared/canvasPlot";
import { drawMark } from "../shared/marks";
import type { Theme } from "../shared/theme";

const MARGINS = { left: 62, top: 8, right: 16, bottom: 36 };
const DOT = 3.5;
/** Fewer points are drawn one by one, too. */
const FEW = 60;

type Context = CanvasRenderingContext2D;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** From numbers to pixels. */
interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

export class HistoryPlot extends CanvasPlot {
  static override properties = {
    ...CanvasPlot.properties,
    history: { attribute: false },
    line: { attribute: false },
    cursor: { state: true },
  };

  declare history: History | undefined;
  declare line: LineChoice;
  declare private cursor: number | undefined;

  constructor() {
    super();
    this.line = "deviation";
  }

  protected override describe(): string {
    const { history, line } = this;
    return history ? describe(history, chartOf(history, line), line) : "History";
  }

  protected override draw(context: Context, size: Size, theme: Theme): void {
    const { history } = this;
    if (!history) return;
    const chart = chartOf(history, this.line);
    const plot = plotBox(size);
    const bounds = roomy(chart.range);
    const scales = scalesOf(chart, plot, bounds);
    context.font = theme.font;
    drawGrid(context, plot, bounds, scales, theme);
    drawPlaces(context, plot, chart, scales, theme);
    drawBand(context, chart, scales, theme);
    drawLine(context, chart, scales, theme);
    drawPoints(context, plot, chart, scales, theme);
    if (this.cursor !== undefined) drawCursor(context, plot, chart, this.cursor, scales, theme);
  }

  protected override onPointerMove(event: PointerEvent): void {
    const { history } = this;
    if (!history) return;
    const chart = chartOf(history, this.line);
    const plot = plotBox(this.size);
    const [first, last] = ends(chart);
    this.moveTo(nearest(chart, first + ((event.offsetX - plot.x) / plot.width) * (last - first)));
  }

  protected override onPointerLeave(): void {
    this.moveTo(undefined);
  }

  protected override onKey(event: KeyboardEvent): void {
    const points = this.history?.points.length ?? 0;
    const moves: Record<string, number> = {
      ArrowLeft: Math.max(0, (this.cursor ?? points) - 1),
      ArrowRight: Math.min(points - 1, (this.cursor ?? -1) + 1),
      Home: 0,
      End: points - 1,
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.moveTo(to);
  }

  private moveTo(point: number | undefined): void {
    if (point === this.cursor) return;
    this.cursor = point;
    const { history } = this;
    const detail = history && point !== undefined ? pointText(history, point) : "";
    this.dispatchEvent(new CustomEvent("zt-readout", { detail, bubbles: true, composed: true }));
  }
}

function plotBox(size: Size): Box {
  return {
    x: MARGINS.left,
    y: MARGINS.top,
    width: Math.max(1, size.width - MARGINS.left - MARGINS.right),
    height: Math.max(1, size.height - MARGINS.top - MARGINS.bottom),
  };
}

function ends(chart: Chart): [number, number] {
  const [first, last] = [chart.xs[0] ?? 0, chart.xs.at(-1) ?? 1];
  return last > first ? [first, last] : [first - 0.5, first + 0.5];
}

/** Bounds with a little room, also for a line that is flat. */
function roomy({ low, high }: Chart["range"]): Chart["range"] {
  const room = high > low ? (high - low) * 0.08 : Math.abs(high) * 0.1 || 1;
  return { low: low - room, high: high + room };
}

function scalesOf(chart: Chart, plot: Box, { low, high }: Chart["range"]): Scales {
  const [first, last] = ends(chart);
  return {
    x: (value) => plot.x + (plot.width * (value - first)) / (last - first),
    y: (value) => plot.y + plot.height * (1 - (value - low) / (high - low)),
  };
}

function drawGrid(
  context: Context,
  plot: Box,
  { low, high }: Chart["range"],
  { y }: Scales,
  theme: Theme,
): void {
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of ticks(low, high, plot.height / 24)) {
    const place = Math.round(y(value)) + 0.5;
    context.fillStyle = theme.text;
    context.fillText(short(value), plot.x - 8, place);
    context.save();
    context.globalAlpha = 0.3;
    context.strokeStyle = theme.line;
    stroke(context, plot.x, place, plot.x + plot.width, place);
    context.restore();
  }
}

function drawPlaces(context: Context, plot: Box, chart: Chart, { x }: Scales, theme: Theme): void {
  const [first, last] = ends(chart);
  const bottom = plot.y + plot.height;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = theme.text;
  for (const place of ticks(first, last, plot.width / 80).filter(Number.isInteger)) {
    context.fillRect(Math.round(x(place)), bottom, 1, 4);
    context.fillText(String(place), x(place), bottom + 7);
  }
  context.fillStyle = theme.faint;
  context.fillText(`${chart.axis} →`, plot.x + plot.width / 2, bottom + 21);
}

/** The band between the lows and the highs, one piece for each run of finite numbers. */
function drawBand(context: Context, chart: Chart, { x, y }: Scales, theme: Theme): void {
  const { lows, highs, xs } = chart;
  if (!lows.length) return;
  context.save();
  context.globalAlpha = 0.2;
  context.fillStyle = theme.accent;
  for (const [from, to] of runs(lows.map((low, i) => low + highs[i]!))) {
    context.beginPath();
    for (let i = from; i < to; i++) context.lineTo(x(xs[i]!), y(highs[i]!));
    for (let i = to - 1; i >= from; i--) context.lineTo(x(xs[i]!), y(lows[i]!));
    context.fill();
  }
  context.restore();
}

function drawLine(context: Context, { xs, ys }: Chart, { x, y }: Scales, theme: Theme): void {
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  for (const [from, to] of runs(ys)) {
    context.beginPath();
    for (let i = from; i < to; i++) context.lineTo(x(xs[i]!), y(ys[i]!));
    context.stroke();
  }
}

/** Where a run has numbers: from the first of them to after the last. */
function runs(values: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  let from: number | undefined;
  [...values, Number.NaN].forEach((value, i) => {
    if (Number.isFinite(value)) from ??= i;
    else if (from !== undefined) {
      found.push([from, i]);
      from = undefined;
    }
  });
  return found;
}

/** A dot with a rim for a stop; NaN and Inf stand on the axis. */
function drawPoints(
  context: Context,
  plot: Box,
  { points, xs, ys }: Chart,
  { x, y }: Scales,
  theme: Theme,
): void {
  points.forEach((point, i) => {
    const [px, value] = [x(xs[i]!), ys[i]!];
    if (point.bad) {
      drawMark(context, "nan", { x: px - 4.5, y: plot.y + plot.height - 9, width: 9, height: 9 });
    }
    if (!Number.isFinite(value) || (point.stop === null && points.length > FEW)) return;
    context.beginPath();
    context.arc(px, y(value), point.stop === null ? 1.5 : DOT, 0, 2 * Math.PI);
    context.fillStyle = theme.accent;
    context.fill();
    if (point.stop === null) return;
    context.strokeStyle = theme.background;
    context.lineWidth = 1.5;
    context.stroke();
  });
}

function drawCursor(
  context: Context,
  plot: Box,
  { xs, ys }: Chart,
  i: number,
  { x, y }: Scales,
  theme: Theme,
): void {
  const place = xs[i];
  if (place === undefined) return;
  context.strokeStyle = theme.focus;
  context.lineWidth = 1;
  stroke(context, x(place), plot.y, x(place), plot.y + plot.height);
  if (!Number.isFinite(ys[i])) return;
  context.beginPath();
  context.arc(x(place), y(ys[i]!), DOT + 2, 0, 2 * Math.PI);
  context.stroke();
}

function stroke(context: Context, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

customElements.define("zt-history-plot", HistoryPlot);
