/** A vector as a line, with the range that each point stands for. */
import type { Pixels } from "../../src/pure/tensorData";
import { short, ticks } from "../../src/pure/tensorNumbers";
import { CanvasPlot, type Size } from "../shared/canvasPlot";
import { drawMark, type Mark, MARK_BITS } from "../shared/marks";
import type { Theme } from "../shared/theme";
import type { Axis } from "./drawHeat";
import type { PictureEvents } from "./picture";

const MARGINS = { left: 62, top: 12, right: 16, bottom: 40 };

type Context = CanvasRenderingContext2D;

export class Line extends CanvasPlot {
  static override properties = {
    ...CanvasPlot.properties,
    pixels: { attribute: false },
    axis: { attribute: false },
    marks: { attribute: false },
    label: {},
    cell: { attribute: false },
  };

  declare pixels: Pixels | undefined;
  declare axis: Axis | undefined;
  declare marks: readonly Mark[];
  declare label: string;
  declare cell: number | undefined;
  private dragFrom: number | undefined;

  constructor() {
    super();
    this.marks = [];
    this.label = "";
  }

  protected override describe(): string {
    return `${this.label}. Arrow keys move along it, Enter zooms in, Escape shows all.`;
  }

  protected override resized(size: Size): void {
    const box = plotBox(size);
    this.tell("zt-place", { width: box.width, height: 1 });
  }

  protected override draw(context: Context, size: Size, theme: Theme): void {
    const { pixels, axis } = this;
    if (!pixels || !axis) return;
    const plot = plotBox(size);
    context.font = theme.font;
    const scale = scaleOf(pixels);
    const y = (value: number): number =>
      plot.y + plot.height * (1 - (value - scale.low) / (scale.high - scale.low));
    const x = (i: number): number => plot.x + (plot.width * (i + 0.5)) / pixels.width;
    drawGrid(context, plot, scale, y, theme);
    drawIndices(context, plot, axis, theme);
    drawEnvelope(context, pixels, x, y, theme);
    drawMean(context, pixels, x, y, theme);
    drawMarked(context, plot, pixels, x, this.marks);
    if (this.cell !== undefined) drawCursor(context, plot, x(this.cell), theme);
  }

  protected override onPointerMove(event: PointerEvent): void {
    this.moveTo(this.at(event.offsetX));
  }

  protected override onPointerLeave(): void {
    this.moveTo(undefined);
  }

  protected override onPointerDown(event: PointerEvent): void {
    this.dragFrom = this.at(event.offsetX);
    this.canvas?.setPointerCapture(event.pointerId);
  }

  protected override onPointerUp(event: PointerEvent): void {
    const to = this.at(event.offsetX);
    if (this.dragFrom !== undefined && to !== undefined && this.dragFrom !== to) {
      this.zoom(Math.min(this.dragFrom, to), Math.max(this.dragFrom, to));
    }
    this.dragFrom = undefined;
  }

  protected override onDoubleClick(event: MouseEvent): void {
    const at = this.at(event.offsetX);
    if (at !== undefined) this.zoomAround(at);
  }

  protected override onKey(event: KeyboardEvent): void {
    const last = (this.pixels?.width ?? 1) - 1;
    const at = this.cell ?? 0;
    if (event.key === "ArrowLeft") this.moveTo(Math.max(0, at - 1));
    else if (event.key === "ArrowRight") this.moveTo(this.cell === undefined ? 0 : Math.min(last, at + 1));
    else if (event.key === "Enter" && this.cell !== undefined) this.zoomAround(this.cell);
    else if (event.key === "Escape") this.tell("zt-zoom", undefined);
    else return;
    event.preventDefault();
  }

  private zoomAround(at: number): void {
    const width = this.pixels?.width ?? 1;
    const reach = Math.max(1, Math.floor(width / 4));
    this.zoom(Math.max(0, at - reach), Math.min(width - 1, at + reach));
  }

  private zoom(from: number, to: number): void {
    const step = this.pixels?.columnStep ?? 1;
    this.tell("zt-zoom", {
      rows: { start: 0, stop: 1 },
      columns: { start: from * step, stop: (to + 1) * step },
    });
  }

  private at(x: number): number | undefined {
    const plot = plotBox(this.size);
    const width = this.pixels?.width ?? 0;
    const i = Math.floor(((x - plot.x) / plot.width) * width);
    return i >= 0 && i < width ? i : undefined;
  }

  private moveTo(cell: number | undefined): void {
    if (cell === this.cell) return;
    this.cell = cell;
    this.tell("zt-cell", cell === undefined ? undefined : { row: 0, column: cell });
  }

  private tell<N extends keyof PictureEvents>(name: N, detail: PictureEvents[N]["detail"]): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Scale {
  readonly low: number;
  readonly high: number;
}

function plotBox(size: Size): Box {
  return {
    x: MARGINS.left,
    y: MARGINS.top,
    width: Math.max(1, size.width - MARGINS.left - MARGINS.right),
    height: Math.max(1, size.height - MARGINS.top - MARGINS.bottom),
  };
}

/** Bounds with a little room, also for a line that is flat. */
function scaleOf(pixels: Pixels): Scale {
  const { low, high } = pixels.range ?? { low: 0, high: 1 };
  const room = high > low ? (high - low) * 0.05 : Math.abs(high) * 0.1 || 1;
  return { low: low - room, high: high + room };
}

function drawGrid(
  context: Context,
  plot: Box,
  scale: Scale,
  y: (value: number) => number,
  theme: Theme,
): void {
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of ticks(scale.low, scale.high, plot.height / 56)) {
    const place = Math.round(y(value)) + 0.5;
    context.fillStyle = theme.text;
    context.fillText(short(value), plot.x - 8, place);
    context.save();
    context.globalAlpha = value === 0 ? 0.9 : 0.3;
    context.strokeStyle = value === 0 ? theme.faint : theme.line;
    strokeLine(context, plot.x, place, plot.x + plot.width, place);
    context.restore();
  }
}

function drawIndices(context: Context, plot: Box, axis: Axis, theme: Theme): void {
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = theme.text;
  const last = axis.start + axis.size - 1;
  const bottom = plot.y + plot.height;
  for (const index of ticks(axis.start, last, plot.width / 70).filter(Number.isInteger)) {
    const x = plot.x + (plot.width * (index - axis.start + 0.5)) / axis.size;
    context.fillRect(Math.round(x), bottom, 1, 4);
    context.fillText(String(index), x, bottom + 8);
  }
  context.fillStyle = theme.faint;
  context.fillText(`${axis.name} →`, plot.x + plot.width / 2, bottom + 24);
}

function drawEnvelope(
  context: Context,
  pixels: Pixels,
  x: (i: number) => number,
  y: (value: number) => number,
  theme: Theme,
): void {
  const { lows, highs } = pixels;
  if (!lows || !highs || pixels.columnStep === 1) return;
  context.save();
  context.globalAlpha = 0.3;
  context.strokeStyle = theme.accent;
  context.lineWidth = Math.max(1, x(1) - x(0));
  for (let i = 0; i < pixels.width; i++) {
    const [low, high] = [lows[i]!, highs[i]!];
    if (!Number.isFinite(low) || !Number.isFinite(high)) continue;
    strokeLine(context, x(i), y(low) + 0.5, x(i), y(high) - 0.5);
  }
  context.restore();
}

function drawMean(
  context: Context,
  pixels: Pixels,
  x: (i: number) => number,
  y: (value: number) => number,
  theme: Theme,
): void {
  context.strokeStyle = theme.accent;
  context.fillStyle = theme.accent;
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  let isDown = false;
  pixels.values.forEach((value, i) => {
    if (!Number.isFinite(value)) isDown = false;
    else if (isDown) context.lineTo(x(i), y(value));
    else {
      context.moveTo(x(i), y(value));
      isDown = true;
    }
  });
  context.stroke();
  if (pixels.width > 80) return;
  pixels.values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    context.beginPath();
    context.arc(x(i), y(value), 2.5, 0, 2 * Math.PI);
    context.fill();
  });
}

/** NaN and Inf have no height: they stand on the axis, a column of colour above them. */
function drawMarked(
  context: Context,
  plot: Box,
  pixels: Pixels,
  x: (i: number) => number,
  marks: readonly Mark[],
): void {
  for (const mark of marks) {
    if (mark === "zero") continue;
    pixels.marks.forEach((bits, i) => {
      if (!(bits & MARK_BITS[mark])) return;
      const width = Math.max(2, Math.min(9, x(1) - x(0)));
      context.save();
      context.globalAlpha = 0.25;
      drawMark(context, mark, { x: x(i) - width / 2, y: plot.y, width, height: plot.height });
      context.restore();
      const top = mark === "nan" ? plot.y + plot.height - 9 : plot.y;
      drawMark(context, mark, { x: x(i) - 4.5, y: top, width: 9, height: 9 });
    });
  }
}

function drawCursor(context: Context, plot: Box, x: number, theme: Theme): void {
  context.strokeStyle = theme.focus;
  context.lineWidth = 1;
  strokeLine(context, x, plot.y, x, plot.y + plot.height);
}

function strokeLine(context: Context, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

customElements.define("zt-line", Line);
