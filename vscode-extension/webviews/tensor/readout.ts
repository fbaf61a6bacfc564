/** What the line below a picture says about the cell that is looked at. */
import { MINUS_INF, NAN, type Pixels, PLUS_INF } from "../../src/pure/tensorData";
import { exact, short } from "../../src/pure/tensorNumbers";
import { elementIndex, type Slice } from "../../src/pure/tensorSlice";

export interface Readout {
  readonly index: string;
  readonly value: string;
}

/**
 * The element's index and value, or the block's ranges and mean.
 *
 * @param known the exact text, once it has come
 */
export function readout(
  slice: Slice,
  pixels: Pixels,
  cell: { readonly row: number; readonly column: number },
  known: string | undefined,
): Readout {
  const at = cell.row * pixels.width + cell.column;
  const isOne = pixels.rowStep === 1 && pixels.columnStep === 1;
  const values = Array.from(
    pixels.values.subarray(at * pixels.channels, (at + 1) * pixels.channels),
  );
  const index = indexText(slice, pixels, cell);
  const odd = oddText(pixels.marks[at] ?? 0);
  if (isOne) {
    return { index, value: known ?? (odd || values.map((value) => exact(value)).join(", ")) };
  }
  const finite = values.filter(Number.isFinite).map(short).join(", ");
  const mean = finite ? `mean ${finite}` : "nothing finite";
  return { index, value: odd ? `${mean}, has ${odd}` : mean };
}

function indexText(
  slice: Slice,
  pixels: Pixels,
  cell: { readonly row: number; readonly column: number },
): string {
  const [row, column] = [cell.row * pixels.rowStep, cell.column * pixels.columnStep];
  const index = elementIndex(slice, row, column);
  const parts = index.map((first, dim) => {
    if (dim === slice.channels) return ":";
    const step = dim === slice.rows ? pixels.rowStep : dim === slice.columns ? pixels.columnStep : 1;
    const part = slice.dims[dim];
    const end = part?.kind === "span" ? Math.min(part.stop, first + step) : first + 1;
    return end - first > 1 ? `${first}:${end}` : String(first);
  });
  return `[${parts.join(", ")}]`;
}

function oddText(marks: number): string {
  const found = [
    marks & NAN ? "NaN" : "",
    marks & PLUS_INF ? "+Inf" : "",
    marks & MINUS_INF ? "−Inf" : "",
  ];
  return found.filter((one) => one).join(", ");
}
