/** Draws a matrix: cells, marks, axes and colour bar. */
import type { Pixels } from "../../src/pure/tensorData";
import { colourAt, type ColourScale, type Rgb } from "../../src/pure/tensorColours";
import { short, ticks } from "../../src/pure/tensorNumbers";
import { type Cell, drawMark, enlarged, type Mark, MARK_BITS } from "../shared/marks";
import type { Theme } from "../shared/theme";
import { cellBox, type HeatLayout } from "./heatLayout";

/** One axis: the dimension's name, its first index and its size. */
export interface Axis {
  readonly name: string;
  readonly start: number;
  readonly size: number;
}

type Context = CanvasRenderingContext2D;

/** Colours of the bar; what lies between is blended. */
const STOPS = 32;
/** A cell of this size has room for its number. */
const NUMBER_WIDTH = 40;
const NUMBER_HEIGHT = 16;

/** The cells as a bitmap of one pixel each, made once an answer. */
export function bitmap(
  pixels: Pixels,
  colours: Uint8ClampedArray<ArrayBuffer>,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = pixels.width;
  canvas.height = pixels.height;
  canvas
    .getContext("2d")
    ?.putImageData(new ImageData(colours, pixels.width, pixels.height), 0, 0);
  return canvas;
}

export function drawCells(
  context: Context,
  layout: HeatLayout,
  cells: HTMLCanvasElement,
  theme: Theme,
): void {
  const { x, y, width, height } = layout;
  drawChecks(context, { x, y, width, height }, theme);
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, x, y, width, height);
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  context.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
}

export function drawMarks(
  context: Context,
  layout: HeatLayout,
  pixels: Pixels,
  shown: readonly Mark[],
): void {
  for (const mark of shown) {
    const found: number[] = [];
    pixels.marks.forEach((bits, i) => {
      if (bits & MARK_BITS[mark]) found.push(i);
    });
    for (const i of found) {
      const box = cellBox(layout, Math.floor(i / pixels.width), i % pixels.width);
      drawMark(context, mark, mark === "zero" ? box : enlarged(box, found.length));
    }
  }
}

/** The numbers themselves, where there is room for them. */
export function drawNumbers(
  context: Context,
  layout: HeatLayout,
  pixels: Pixels,
  scale: ColourScale,
  theme: Theme,
): void {
  const { cellWidth, cellHeight } = layout;
  if (cellWidth < NUMBER_WIDTH || cellHeight < NUMBER_HEIGHT) return;
  if (pixels.rowStep * pixels.columnStep > 1) return;
  context.font = theme.font;
  context.textAlign = "center";
  context.textBaseline = "middle";
  pixels.values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const box = cellBox(layout, Math.floor(i / pixels.width), i % pixels.width);
    const share = scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 0.5;
    context.fillStyle = isLight(colourAt(scale.map, share)) ? "#000000" : "#ffffff";
    context.fillText(brief(value), box.x + box.width / 2, box.y + box.height / 2, box.width - 4);
  });
}

export function drawAxes(
  context: Context,
  layout: HeatLayout,
  rows: Axis | undefined,
  columns: Axis,
  theme: Theme,
): void {
  context.font = theme.font;
  context.textBaseline = "middle";
  drawColumns(context, layout, columns, theme);
  if (rows) drawRows(context, layout, rows, theme);
}

export function drawColourBar(
  context: Context,
  layout: HeatLayout,
  scale: ColourScale,
  theme: Theme,
): void {
  const bar = { x: layout.x + layout.width + 16, width: 12, y: layout.y, height: barHeight(layout) };
  const gradient = context.createLinearGradient(0, bar.y + bar.height, 0, bar.y);
  for (let stop = 0; stop <= STOPS; stop++) {
    const [red, green, blue] = colourAt(scale.map, stop / STOPS);
    gradient.addColorStop(stop / STOPS, `rgb(${red} ${green} ${blue})`);
  }
  context.fillStyle = gradient;
  context.fillRect(bar.x, bar.y, bar.width, bar.height);
  context.strokeStyle = theme.line;
  context.strokeRect(bar.x - 0.5, bar.y - 0.5, bar.width + 1, bar.height + 1);
  context.fillStyle = theme.text;
  context.font = theme.font;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const flat = !(scale.high > scale.low);
  for (const value of barTicks(scale, bar.height)) {
    const share = flat ? 0.5 : (value - scale.low) / (scale.high - scale.low);
    const y = bar.y + (1 - share) * bar.height;
    context.fillRect(bar.x + bar.width + 1, Math.round(y), 4, 1);
    context.fillText(short(value), bar.x + bar.width + 8, y);
  }
}

export function drawOutline(context: Context, cell: Cell, theme: Theme): void {
  context.lineWidth = 3;
  context.strokeStyle = "#000000";
  context.strokeRect(cell.x - 0.5, cell.y - 0.5, cell.width + 1, cell.height + 1);
  context.lineWidth = 1.5;
  context.strokeStyle = theme.focus;
  context.strokeRect(cell.x - 0.5, cell.y - 0.5, cell.width + 1, cell.height + 1);
}

/** A bar is readable at some height even if the matrix is one row. */
function barHeight(layout: HeatLayout): number {
  return Math.round(Math.max(layout.height, 96));
}

function barTicks(scale: ColourScale, height: number): number[] {
  const gap = 14;
  const found = ticks(scale.low, scale.high, height / 44);
  const span = scale.high - scale.low;
  const isFar = (value: number, end: number): boolean =>
    (Math.abs(value - end) / span) * height > gap;
  if (!(span > 0)) return [scale.low];
  const middle = found.filter((one) => isFar(one, scale.low) && isFar(one, scale.high));
  return [scale.low, ...middle, scale.high];
}

function drawColumns(context: Context, layout: HeatLayout, axis: Axis, theme: Theme): void {
  context.textAlign = "left";
  context.fillStyle = theme.faint;
  context.fillText(`${axis.name} →`, layout.x, layout.y - 28);
  context.fillStyle = theme.text;
  context.textAlign = "center";
  let free = -Infinity;
  for (const index of indexTicks(axis, layout.width, 46)) {
    const x = layout.x + (layout.width * (index - axis.start + 0.5)) / axis.size;
    const half = context.measureText(String(index)).width / 2;
    if (x - half < free) continue;
    free = x + half + 6;
    context.fillText(String(index), x, layout.y - 12);
    context.fillRect(Math.round(x), layout.y - 5, 1, 4);
  }
}

function drawRows(context: Context, layout: HeatLayout, axis: Axis, theme: Theme): void {
  context.fillStyle = theme.faint;
  context.textAlign = "right";
  context.fillText(`${axis.name} ↓`, layout.x - 8, layout.y - 12);
  context.fillStyle = theme.text;
  for (const index of indexTicks(axis, layout.height, 36)) {
    const y = layout.y + (layout.height * (index - axis.start + 0.5)) / axis.size;
    context.fillText(String(index), layout.x - 8, y);
    context.fillRect(layout.x - 5, Math.round(y), 4, 1);
  }
}

function indexTicks(axis: Axis, length: number, gap: number): number[] {
  const last = axis.start + axis.size - 1;
  const found = ticks(axis.start, last, Math.max(1, length / gap)).filter(Number.isInteger);
  return found.includes(axis.start) || !found.length ? found : [axis.start, ...found.filter(
    (index) => ((index - axis.start) * length) / axis.size >= gap / 2,
  )];
}

/** By the luminance of sRGB. */
function isLight([red, green, blue]: Rgb): boolean {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 118;
}

/** Three digits: a cell is small, and the line below has them all. */
function brief(value: number): string {
  return short(Number(value.toPrecision(3)));
}

/** What has no finite value is seen as a gap, not as a colour. */
function drawChecks(context: Context, box: Cell, theme: Theme): void {
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  context.fillStyle = theme.background;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.strokeStyle = theme.faint;
  context.globalAlpha = 0.35;
  for (let offset = -box.height; offset < box.width; offset += 6) {
    context.beginPath();
    context.moveTo(box.x + offset, box.y + box.height);
    context.lineTo(box.x + offset + box.height, box.y);
    context.stroke();
  }
  context.restore();
}
