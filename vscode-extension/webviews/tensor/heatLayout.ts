/** Where a matrix is drawn: pure geometry. */
import type { Pixels } from "../../src/pure/tensorData";
import type { Place } from "../../src/pure/tensorQueries";
import type { Cell } from "../shared/marks";

export interface HeatLayout {
  readonly x: number;
  readonly y: number;
  /** Of one cell, in CSS pixels. */
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly width: number;
  readonly height: number;
}

/** Room around the matrix, for ticks, names of dimensions and the colour bar. */
export interface Margins {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export const HEAT_MARGINS: Margins = { left: 56, top: 38, right: 86, bottom: 6 };
export const IMAGE_MARGINS: Margins = { left: 56, top: 38, right: 12, bottom: 6 };

const LARGEST_CELL = 56;
/** Cells of this size are square. */
const READABLE_CELL = 8;
/** Smaller cells of a long, thin matrix may be this much longer than wide. */
const MOST_STRETCH = 4;

/** What is left for the matrix itself. */
export function inner(place: Place, margins: Margins): Place {
  return {
    width: Math.max(1, place.width - margins.left - margins.right),
    height: Math.max(1, place.height - margins.top - margins.bottom),
  };
}

/** A heat map: whole pixels a cell, where it is small enough. */
export function heatLayout(place: Place, margins: Margins, pixels: Pixels): HeatLayout {
  const room = inner(place, margins);
  let cellWidth = whole(room.width / pixels.width);
  let cellHeight = whole(room.height / pixels.height);
  const least = Math.min(cellWidth, cellHeight);
  const stretch = least >= READABLE_CELL ? 1 : MOST_STRETCH;
  cellWidth = Math.min(cellWidth, least * stretch);
  cellHeight = Math.min(cellHeight, least * stretch);
  return laid(margins, pixels, cellWidth, cellHeight);
}

/** A picture: elements are square. */
export function imageLayout(place: Place, margins: Margins, pixels: Pixels): HeatLayout {
  const room = inner(place, margins);
  const { rowStep, columnStep } = pixels;
  const element = Math.min(
    room.width / (pixels.width * columnStep),
    room.height / (pixels.height * rowStep),
  );
  const scale = whole(element * Math.min(rowStep, columnStep)) / Math.min(rowStep, columnStep);
  return laid(margins, pixels, scale * columnStep, scale * rowStep);
}

export function cellBox(layout: HeatLayout, row: number, column: number): Cell {
  return {
    x: layout.x + column * layout.cellWidth,
    y: layout.y + row * layout.cellHeight,
    width: layout.cellWidth,
    height: layout.cellHeight,
  };
}

/** The cell at a point; undefined outside. */
export function cellAt(
  layout: HeatLayout,
  x: number,
  y: number,
): { readonly row: number; readonly column: number } | undefined {
  const column = Math.floor((x - layout.x) / layout.cellWidth);
  const row = Math.floor((y - layout.y) / layout.cellHeight);
  const isInside = x >= layout.x && y >= layout.y && x < layout.x + layout.width;
  return isInside && y < layout.y + layout.height ? { row, column } : undefined;
}

function laid(
  margins: Margins,
  pixels: Pixels,
  cellWidth: number,
  cellHeight: number,
): HeatLayout {
  return {
    x: margins.left,
    y: margins.top,
    cellWidth,
    cellHeight,
    width: cellWidth * pixels.width,
    height: cellHeight * pixels.height,
  };
}

function whole(scale: number): number {
  return scale >= 1 ? Math.min(LARGEST_CELL, Math.floor(scale)) : scale;
}
