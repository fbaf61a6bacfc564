/** The signs that lie on top of data: each has a shape and a colour, so either is enough. */
import { MINUS_INF, NAN, PLUS_INF, ZERO } from "../../src/pure/tensorData";
import { MARK_COLOURS } from "./theme";

export type Mark = "nan" | "inf" | "zero";

/** Bits of an element's marks that a sign stands for. */
export const MARK_BITS: Readonly<Record<Mark, number>> = {
  nan: NAN,
  inf: PLUS_INF | MINUS_INF,
  zero: ZERO,
};

export const MARK_NAMES: Readonly<Record<Mark, string>> = { nan: "NaN", inf: "Inf", zero: "Zero" };

/** Below this size of a cell a sign is larger than its cell, or one NaN in thousands is lost. */
const LEAST = 7;
/** With more signs than this only the cells are coloured: signs would hide all else. */
const MOST_ENLARGED = 400;

export interface Cell {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function drawMark(context: CanvasRenderingContext2D, mark: Mark, cell: Cell): void {
  const { x, y, width, height } = cell;
  if (mark === "zero") {
    drawZero(context, cell);
    return;
  }
  context.fillStyle = MARK_COLOURS[mark];
  context.fillRect(x, y, width, height);
  const size = Math.min(width, height);
  if (size < LEAST) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = "#000000";
  context.lineWidth = Math.max(1, Math.min(2, size / 9));
  const reach = Math.min(size, 22) / 2 - 2;
  const [cx, cy] = [x + width / 2, y + height / 2];
  context.beginPath();
  if (mark === "nan") {
    context.moveTo(cx - reach, cy - reach);
    context.lineTo(cx + reach, cy + reach);
    context.moveTo(cx - reach, cy + reach);
    context.lineTo(cx + reach, cy - reach);
  } else {
    context.moveTo(cx - reach, cy + reach * 0.8);
    context.lineTo(cx, cy - reach * 0.9);
    context.lineTo(cx + reach, cy + reach * 0.8);
    context.closePath();
  }
  context.stroke();
  context.restore();
}

/** Cells of a mark that are too small to be seen get a sign around them, if they are few. */
export function enlarged(cell: Cell, howMany: number): Cell {
  if (Math.min(cell.width, cell.height) >= LEAST || howMany > MOST_ENLARGED) return cell;
  const width = Math.max(cell.width, LEAST);
  const height = Math.max(cell.height, LEAST);
  return {
    x: cell.x + (cell.width - width) / 2,
    y: cell.y + (cell.height - height) / 2,
    width,
    height,
  };
}

function drawZero(context: CanvasRenderingContext2D, cell: Cell): void {
  const size = Math.min(cell.width, cell.height);
  const [cx, cy] = [cell.x + cell.width / 2, cell.y + cell.height / 2];
  context.fillStyle = MARK_COLOURS.zero;
  if (size < 4) {
    context.fillRect(cell.x, cell.y, cell.width, cell.height);
    return;
  }
  context.beginPath();
  context.arc(cx, cy, Math.min(4, size / 4), 0, 2 * Math.PI);
  context.fill();
  context.strokeStyle = "#ffffff";
  context.lineWidth = 1;
  context.stroke();
}
