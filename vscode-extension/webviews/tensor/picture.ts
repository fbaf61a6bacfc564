/** A matrix as colours, or a tensor as a picture: looking at cells, and zooming into them. */
import { css, type PropertyValues } from "lit";
import { type ColourChoice, type ColourScale, colourScale, heatPixels } from "../../src/pure/tensorColours";
import type { Pixels } from "../../src/pure/tensorData";
import { imagePixels, imageRange, type Normalise } from "../../src/pure/tensorImage";
import type { Range } from "../../src/pure/tensorSlice";
import { CanvasPlot, type Size } from "../shared/canvasPlot";
import { type Mark } from "../shared/marks";
import type { Theme } from "../shared/theme";
import {
  type Axis,
  bitmap,
  drawAxes,
  drawCells,
  drawColourBar,
  drawMarks,
  drawNumbers,
  drawOutline,
} from "./drawHeat";
import {
  cellAt,
  cellBox,
  HEAT_MARGINS,
  type HeatLayout,
  heatLayout,
  IMAGE_MARGINS,
  imageLayout,
  inner,
} from "./heatLayout";

export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

/** What the picture tells its surroundings. */
export interface PictureEvents {
  "zt-place": CustomEvent<Size>;
  "zt-cell": CustomEvent<CellPlace | undefined>;
  "zt-zoom": CustomEvent<{ rows: Range; columns: Range } | undefined>;
  "zt-paint": CustomEvent<{ rows: Range; columns: Range }>;
}

/** A drag shorter than this is a click. */
const LEAST_DRAG = 4;

export class Picture extends CanvasPlot {
  static override properties = {
    ...CanvasPlot.properties,
    pixels: { attribute: false },
    mode: {},
    rows: { attribute: false },
    columns: { attribute: false },
    colourMap: { attribute: false },
    span: { attribute: false },
    normalise: { attribute: false },
    dtype: {},
    marks: { attribute: false },
    label: {},
    cell: { attribute: false },
    paints: { type: Boolean },
  };
  static override styles = [
    ...CanvasPlot.styles,
    css`
      canvas {
        cursor: crosshair;
      }
    `,
  ];

  declare pixels: Pixels | undefined;
  declare mode: "heat" | "image";
  declare rows: Axis | undefined;
  declare columns: Axis | undefined;
  declare colourMap: ColourChoice;
  /** Bounds of the colours; undefined: those of the values in view. */
  declare span: { readonly low: number; readonly high: number } | undefined;
  declare normalise: Normalise;
  declare dtype: string;
  declare marks: readonly Mark[];
  declare label: string;
  declare cell: CellPlace | undefined;
  /** Whether a drag changes cells; else it zooms in. */
  declare paints: boolean;

  private cells: HTMLCanvasElement | undefined;
  private drag: { from: CellPlace; to: CellPlace; x: number; y: number } | undefined;

  constructor() {
    super();
    this.mode = "heat";
    this.colourMap = "auto";
    this.normalise = "auto";
    this.dtype = "";
    this.marks = [];
    this.label = "";
    this.paints = false;
  }

  /** The colours in use; what the colour bar shows. */
  get scale(): ColourScale {
    const { low, high } = this.span ?? this.pixels?.range ?? { low: 0, high: 0 };
    return colourScale(this.colourMap, low, high);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const looks = ["pixels", "mode", "colourMap", "span", "normalise", "dtype"] as const;
    if (looks.some((name) => changed.has(name))) this.cells = undefined;
  }

  protected override describe(): string {
    const enter = this.paints ? "Enter sets the cell" : "Enter zooms in";
    return `${this.label}. Arrow keys move between cells, ${enter}, Escape shows all.`;
  }

  protected override resized(size: Size): void {
    this.tell("zt-place", inner(size, this.margins));
  }

  protected override draw(context: CanvasRenderingContext2D, size: Size, theme: Theme): void {
    const { pixels } = this;
    if (!pixels || !this.columns) return;
    const layout = this.layout(size);
    if (!layout) return;
    this.cells ??= bitmap(pixels, this.colours(pixels));
    drawCells(context, layout, this.cells, theme);
    if (this.mode === "heat") drawNumbers(context, layout, pixels, this.scale, theme);
    drawMarks(context, layout, pixels, this.marks);
    drawAxes(context, layout, this.rows, this.columns, theme);
    if (this.mode === "heat" && pixels.range) drawColourBar(context, layout, this.scale, theme);
    if (this.cell) drawOutline(context, cellBox(layout, this.cell.row, this.cell.column), theme);
    if (this.drag) this.drawDrag(context, layout, theme);
  }

  protected override onPointerDown(event: PointerEvent): void {
    const from = this.at(event);
    if (!from || event.button !== 0) return;
    this.canvas?.setPointerCapture(event.pointerId);
    this.drag = { from, to: from, x: event.offsetX, y: event.offsetY };
  }

  protected override onPointerMove(event: PointerEvent): void {
    const cell = this.at(event);
    if (this.drag && cell) this.drag.to = cell;
    if (cell?.row !== this.cell?.row || cell?.column !== this.cell?.column) this.moveTo(cell);
    else if (this.drag) this.redraw();
  }

  protected override onPointerUp(event: PointerEvent): void {
    const { drag } = this;
    this.drag = undefined;
    if (!drag) return;
    const moved = Math.max(Math.abs(event.offsetX - drag.x), Math.abs(event.offsetY - drag.y));
    if (this.paints) this.tell("zt-paint", this.between(drag.from, drag.to));
    else if (moved >= LEAST_DRAG) this.zoomTo(drag.from, drag.to);
    this.redraw();
  }

  protected override onPointerLeave(): void {
    if (!this.drag) this.moveTo(undefined);
  }

  protected override onDoubleClick(event: MouseEvent): void {
    const cell = this.at(event);
    if (cell && !this.paints) this.zoomAround(cell);
  }

  protected override onKey(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (step && this.pixels) {
      const from = this.cell ?? { row: 0, column: 0 };
      this.moveTo({
        row: clamp(from.row + step[0] * Number(this.cell !== undefined), this.pixels.height),
        column: clamp(from.column + step[1] * Number(this.cell !== undefined), this.pixels.width),
      });
    } else if (event.key === "Enter" && this.cell) this.enter(this.cell);
    else if (event.key === "Escape") this.tell("zt-zoom", undefined);
    else return;
    event.preventDefault();
  }

  private get margins(): typeof HEAT_MARGINS {
    return this.mode === "heat" ? HEAT_MARGINS : IMAGE_MARGINS;
  }

  private layout(size: Size): HeatLayout | undefined {
    const { pixels } = this;
    if (!pixels?.width || !pixels.height) return undefined;
    const make = this.mode === "heat" ? heatLayout : imageLayout;
    return make(size, this.margins, pixels);
  }

  private colours(pixels: Pixels): Uint8ClampedArray<ArrayBuffer> {
    if (this.mode === "heat") return heatPixels(pixels.values, this.scale);
    const { low, high } = pixels.range ?? { low: 0, high: 1 };
    const range = imageRange(this.normalise, this.dtype, low, high);
    return imagePixels(pixels.values, pixels.channels, range);
  }

  private at(event: MouseEvent): CellPlace | undefined {
    const layout = this.layout(this.size);
    return layout && cellAt(layout, event.offsetX, event.offsetY);
  }

  private moveTo(cell: CellPlace | undefined): void {
    this.cell = cell;
    this.tell("zt-cell", cell);
  }

  private enter(cell: CellPlace): void {
    if (this.paints) this.tell("zt-paint", this.between(cell, cell));
    else this.zoomAround(cell);
  }

  private zoomTo(from: CellPlace, to: CellPlace): void {
    this.tell("zt-zoom", this.between(from, to));
  }

  /** The elements from one cell to another. */
  private between(from: CellPlace, to: CellPlace): { rows: Range; columns: Range } {
    const { rowStep = 1, columnStep = 1 } = this.pixels ?? {};
    return {
      rows: ordered(from.row, to.row, rowStep),
      columns: ordered(from.column, to.column, columnStep),
    };
  }

  /** Half of each side, around a cell. */
  private zoomAround({ row, column }: CellPlace): void {
    const { height = 1, width = 1 } = this.pixels ?? {};
    const [down, across] = [Math.max(1, Math.floor(height / 4)), Math.max(1, Math.floor(width / 4))];
    this.zoomTo(
      { row: Math.max(0, row - down), column: Math.max(0, column - across) },
      { row: Math.min(height, row + down) - 1, column: Math.min(width, column + across) - 1 },
    );
  }

  private drawDrag(context: CanvasRenderingContext2D, layout: HeatLayout, theme: Theme): void {
    if (!this.drag) return;
    const { from, to } = this.drag;
    const first = cellBox(layout, Math.min(from.row, to.row), Math.min(from.column, to.column));
    const last = cellBox(layout, Math.max(from.row, to.row), Math.max(from.column, to.column));
    const box = {
      x: first.x,
      y: first.y,
      width: last.x + last.width - first.x,
      height: last.y + last.height - first.y,
    };
    drawOutline(context, box, theme);
  }

  private tell<N extends keyof PictureEvents>(name: N, detail: PictureEvents[N]["detail"]): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function ordered(a: number, b: number, step: number): Range {
  return { start: Math.min(a, b) * step, stop: (Math.max(a, b) + 1) * step };
}

function clamp(index: number, size: number): number {
  return Math.max(0, Math.min(index, size - 1));
}

customElements.define("zt-picture", Picture);
