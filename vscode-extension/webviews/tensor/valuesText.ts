/** Values as text: what is copied, and what is special about one. */
import { numberOf } from "../../src/pure/tensorNumbers";
import type { Range } from "../../src/pure/tensorSlice";
import type { Page } from "../../src/wire/generated";

export interface Selection {
  readonly from: { readonly row: number; readonly column: number };
  readonly to: { readonly row: number; readonly column: number };
}

/** Rows and columns of what is sliced, counted from its top left. */
export interface Part {
  readonly rows: Range;
  readonly columns: Range;
}

/** Where selected cells of a page are in what is sliced. */
export function partOf(page: Page, { from, to }: Selection): Part {
  const range = (first: number, a: number, b: number): Range => ({
    start: first + Math.min(a, b),
    stop: first + Math.max(a, b) + 1,
  });
  return {
    rows: range(page.row, from.row, to.row),
    columns: range(page.column, from.column, to.column),
  };
}

export function sizeOf({ rows, columns }: Part): number {
  return (rows.stop - rows.start) * (columns.stop - columns.start);
}

/** The selected cells, or all, with tabs between and a line a row: what spreadsheets take. */
export function tableText(page: Page, selection: Selection | undefined): string {
  const { from, to } = selection ?? {
    from: { row: 0, column: 0 },
    to: { row: page.cells.length - 1, column: (page.cells[0]?.length ?? 1) - 1 },
  };
  const isOne = from.row === to.row && from.column === to.column;
  const cells = page.cells
    .slice(Math.min(from.row, to.row), Math.max(from.row, to.row) + 1)
    .map((row) => row.slice(Math.min(from.column, to.column), Math.max(from.column, to.column) + 1));
  return cells.map((row) => row.join("\t")).join("\n") + (isOne ? "" : "\n");
}

/** What is special about an element. */
export function kindOf(text: string): "odd" | "zero" | "" {
  if (/nan|inf/i.test(text)) return "odd";
  return numberOf(text) === 0 ? "zero" : "";
}
