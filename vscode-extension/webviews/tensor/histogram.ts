/** How the finite values are spread; what is not finite is counted beside it. */
import { count, exact, short, ticks } from "../../src/pure/tensorNumbers";
import type { Histogram as Counts, Stats } from "../../src/wire/generated";
import { CanvasPlot, type Size } from "../shared/canvasPlot";
import { drawMark } from "../shared/marks";
import type { Theme } from "../shared/theme";

const MARGINS = { left: 56, top: 14, right: 16, bottom: 40 };
/** Room for the bars of NaN and Inf, with their numbers above. */
const SIDE = 52;

export class Histogram extends CanvasPlot {
  static override properties = {
    ...CanvasPlot.properties,
    counts: { attribute: false },
    stats: { attribute: false },
    log: { attribute: false },
    cursor: { state: true },
  };

  declare counts: Counts | undefined;
  declare stats: Stats | undefined;
  declare log: boolean;
  declare private cursor: number | undefined;

  protected override describe(): string {
    const { counts, stats } = this;
    if (!counts) return "Histogram";
    const bins = counts.counts.length;
    const highest = counts.counts.indexOf(Math.max(...counts.counts));
    return (
      `Histogram of ${count(total(counts))} finite values from ${short(counts.low)} to ` +
      `${short(counts.high)} in ${bins} bins; most are in ${binText(counts, highest)}. NaN ` +
      `${count(stats?.nan ?? 0)}, Inf ${count(stats?.inf ?? 0)}. Arrow keys move between bins.`
    );
  }

  protected override draw(context: CanvasRenderingContext2D, size: Size, theme: Theme): void {
    const { counts } = this;
    if (!counts?.counts.length) return;
    const sides = this.sides();
    const plot = plotBox(size, sides.length);
    const top = Math.max(1, ...counts.counts, ...sides.map((side) => side.count));
    const heightOf = (value: number): number => plot.height * share(value, top, this.log);
    context.font = theme.font;
    drawGrid(context, plot, top, this.log, theme);
    drawBars(context, plot, counts, heightOf, theme, this.cursor);
    drawValues(context, plot, counts, theme);
    this.drawMean(context, plot, counts, theme);
    sides.forEach((side, i) => {
      drawSide(context, plot, side, i, heightOf, theme);
    });
  }

  protected override onPointerMove(event: PointerEvent): void {
    this.moveTo(this.binAt(event.offsetX));
  }

  protected override onPointerLeave(): void {
    this.moveTo(undefined);
  }

  protected override onKey(event: KeyboardEvent): void {
    const bins = this.counts?.counts.length ?? 0;
    const moves: Record<string, number> = {
      ArrowLeft: Math.max(0, (this.cursor ?? bins) - 1),
      ArrowRight: Math.min(bins - 1, (this.cursor ?? -1) + 1),
      Home: 0,
      End: bins - 1,
    };
    const bin = moves[event.key];
    if (bin === undefined) return;
    event.preventDefault();
    this.moveTo(bin);
  }

  private sides(): Side[] {
    const { nan, inf } = this.stats ?? {};
    const found: Side[] = [];
    if (nan) found.push({ name: "NaN", mark: "nan", count: nan });
    if (inf) found.push({ name: "±Inf", mark: "inf", count: inf });
    return found;
  }

  private drawMean(
    context: CanvasRenderingContext2D,
    plot: Box,
    counts: Counts,
    theme: Theme,
  ): void {
    const mean = this.stats?.mean;
    if (mean === null || mean === undefined || !(counts.high > counts.low)) return;
    if (mean < counts.low || mean > counts.high) return;
    const x = plot.x + (plot.width * (mean - counts.low)) / (counts.high - counts.low);
    context.save();
    context.strokeStyle = theme.text;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, plot.y);
    context.lineTo(x, plot.y + plot.height);
    context.stroke();
    context.restore();
    const isRight = x > plot.x + plot.width * 0.8;
    context.fillStyle = theme.text;
    context.textBaseline = "top";
    context.textAlign = isRight ? "right" : "left";
    context.fillText(`mean ${short(mean)}`, x + (isRight ? -5 : 5), plot.y);
  }

  private binAt(x: number): number | undefined {
    const bins = this.counts?.counts.length ?? 0;
    const plot = plotBox(this.size, this.sides().length);
    const bin = Math.floor(((x - plot.x) / plot.width) * bins);
    return bin >= 0 && bin < bins ? bin : undefined;
  }

  private moveTo(bin: number | undefined): void {
    if (bin === this.cursor) return;
    this.cursor = bin;
    const { counts } = this;
    const detail =
      bin === undefined || !counts
        ? ""
        : `${binText(counts, bin)}: ${count(counts.counts[bin] ?? 0)} ` +
          `(${short((100 * (counts.counts[bin] ?? 0)) / Math.max(1, total(counts)))} %)`;
    this.dispatchEvent(new CustomEvent("zt-readout", { detail, bubbles: true, composed: true }));
  }
}

interface Side {
  readonly name: string;
  readonly mark: "nan" | "inf";
  readonly count: number;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The height of a bar as a share; on a log scale one is seen and none is not. */
export function share(value: number, top: number, log: boolean): number {
  if (value <= 0) return 0;
  return log ? Math.log10(value + 1) / Math.log10(top + 1) : value / top;
}

/** `[-0.5, 0.25)`: the range of a bin. */
export function binText(counts: Counts, bin: number): string {
  const width = (counts.high - counts.low) / counts.counts.length;
  const isLast = bin === counts.counts.length - 1;
  const from = short(counts.low + bin * width);
  const to = short(isLast ? counts.high : counts.low + (bin + 1) * width);
  return counts.high > counts.low ? `${from} … ${to}` : exact(counts.low);
}

function total(counts: Counts): number {
  return counts.counts.reduce((sum, one) => sum + one, 0);
}

function plotBox(size: Size, sides: number): Box {
  const right = MARGINS.right + sides * SIDE;
  return {
    x: MARGINS.left,
    y: MARGINS.top,
    width: Math.max(1, size.width - MARGINS.left - right),
    height: Math.max(1, size.height - MARGINS.top - MARGINS.bottom),
  };
}

function drawGrid(
  context: CanvasRenderingContext2D,
  plot: Box,
  top: number,
  log: boolean,
  theme: Theme,
): void {
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of countTicks(top, log)) {
    const y = Math.round(plot.y + plot.height * (1 - share(value, top, log))) + 0.5;
    context.fillStyle = theme.faint;
    context.fillText(count(value), plot.x - 8, y);
    context.save();
    context.globalAlpha = value === 0 ? 1 : 0.3;
    context.strokeStyle = value === 0 ? theme.faint : theme.line;
    context.beginPath();
    context.moveTo(plot.x, y);
    context.lineTo(plot.x + plot.width, y);
    context.stroke();
    context.restore();
  }
}

function countTicks(top: number, log: boolean): number[] {
  if (!log) return ticks(0, top, 4).filter(Number.isInteger);
  const found = [0];
  const step = top > 1e5 ? 100 : 10;
  for (let value = 1; value <= top; value *= step) found.push(value);
  return found;
}

function drawBars(
  context: CanvasRenderingContext2D,
  plot: Box,
  counts: Counts,
  heightOf: (value: number) => number,
  theme: Theme,
  cursor: number | undefined,
): void {
  const step = plot.width / counts.counts.length;
  const gap = step > 5 ? 1 : 0;
  counts.counts.forEach((value, bin) => {
    const left = Math.round(plot.x + bin * step);
    const right = Math.round(plot.x + (bin + 1) * step) - gap;
    if (bin === cursor) {
      context.save();
      context.globalAlpha = 0.15;
      context.fillStyle = theme.text;
      context.fillRect(left, plot.y, right - left, plot.height);
      context.restore();
    }
    if (!value) return;
    const height = Math.max(1, heightOf(value));
    context.fillStyle = bin === cursor ? theme.focus : theme.accent;
    context.fillRect(left, plot.y + plot.height - height, right - left, height);
  });
}

function drawValues(
  context: CanvasRenderingContext2D,
  plot: Box,
  counts: Counts,
  theme: Theme,
): void {
  context.fillStyle = theme.text;
  context.textAlign = "center";
  context.textBaseline = "top";
  const span = counts.high - counts.low;
  const y = plot.y + plot.height;
  for (const value of ticks(counts.low, counts.high, plot.width / 80)) {
    const x = plot.x + (span > 0 ? (plot.width * (value - counts.low)) / span : plot.width / 2);
    context.fillRect(Math.round(x), y, 1, 4);
    context.fillText(short(value), x, y + 8);
  }
  context.fillStyle = theme.faint;
  context.fillText("value", plot.x + plot.width / 2, y + 24);
}

function drawSide(
  context: CanvasRenderingContext2D,
  plot: Box,
  side: Side,
  number: number,
  heightOf: (value: number) => number,
  theme: Theme,
): void {
  const x = plot.x + plot.width + 24 + number * SIDE;
  const height = Math.max(2, heightOf(side.count));
  const bottom = plot.y + plot.height;
  drawMark(context, side.mark, { x, y: bottom - height, width: 18, height });
  context.fillStyle = theme.text;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText(count(side.count), x + 9, bottom - height - 2);
  context.textBaseline = "top";
  context.fillText(side.name, x + 9, bottom + 8);
}

customElements.define("zt-histogram", Histogram);
