// Which part of a tensor is shown: pure state and its moves, for any number of dimensions.

/** What one dimension contributes: a range of it, or one index. */
export type Dim =
  | { readonly kind: "span"; readonly start: number; readonly stop: number }
  | { readonly kind: "at"; readonly index: number };

export type Role = "rows" | "columns" | "channels" | "index";

/** A slice of a tensor; `rows`, `columns` and `channels` are dimensions that are ranges. */
export interface Slice {
  readonly shape: readonly number[];
  readonly dims: readonly Dim[];
  readonly rows: number | null;
  readonly columns: number | null;
  readonly channels: number | null;
}

export interface Range {
  readonly start: number;
  readonly stop: number;
}

/** The last two dimensions, at index 0 of the others. */
export function initialSlice(shape: readonly number[]): Slice {
  const rank = shape.length;
  return withAxes(shape, shape.map(() => at(0)), {
    rows: rank > 1 ? rank - 2 : null,
    columns: rank > 0 ? rank - 1 : null,
    channels: null,
  });
}

/** Python's index without brackets, one entry a dimension; empty for a scalar. */
export function sliceText(slice: Slice): string {
  return slice.dims.map((dim, number) => dimText(dim, slice.shape[number] ?? 0)).join(", ");
}

/** The axes for the request: only where the order is not the tensor's own. */
export function sliceAxes(slice: Slice): number[] | null {
  const { rows, columns } = slice;
  return rows !== null && columns !== null && rows > columns ? [rows, columns] : null;
}

/** Reads an index that `sliceText` or the runtime wrote; undefined if it is for another shape. */
export function parseSlice(
  shape: readonly number[],
  text: string,
  axes: readonly number[],
): Slice | undefined {
  const entries = text.trim() === "" ? [] : text.split(",").map((entry) => entry.trim());
  if (entries.length !== shape.length) return undefined;
  const dims: Dim[] = [];
  for (const [number, entry] of entries.entries()) {
    const dim = parseDim(entry, shape[number] ?? 0);
    if (!dim) return undefined;
    dims.push(dim);
  }
  const columns = axes.at(-1) ?? null;
  const rows = axes.length > 1 ? (axes[0] ?? null) : null;
  for (const axis of [rows, columns]) {
    if (axis !== null && dims[axis]?.kind !== "span") return undefined;
  }
  return { shape, dims, rows, columns, channels: null };
}

export function roleOf(slice: Slice, dim: number): Role {
  if (dim === slice.rows) return "rows";
  if (dim === slice.columns) return "columns";
  return dim === slice.channels ? "channels" : "index";
}

/**
 * Gives a dimension another part. Taking an axis from another dimension gives that one the part
 * that is left, so two clicks swap them.
 */
export function setRole(slice: Slice, dim: number, role: Role): Slice {
  const before = roleOf(slice, dim);
  if (before === role) return slice;
  const axes = { rows: slice.rows, columns: slice.columns, channels: slice.channels };
  const holder = role === "index" ? null : axes[role];
  if (before !== "index") axes[before] = holder;
  if (role !== "index") axes[role] = dim;
  if (axes.columns === null && axes.rows !== null) {
    axes.columns = axes.rows; // a single axis runs across
    axes.rows = null;
  }
  if (axes.columns === null) return slice; // something must be left to show
  return withAxes(slice.shape, slice.dims, axes);
}

export function swapAxes(slice: Slice): Slice {
  if (slice.rows === null) return slice;
  return { ...slice, rows: slice.columns, columns: slice.rows };
}

/** Moves an index; out of range is clamped. */
export function setIndex(slice: Slice, dim: number, index: number): Slice {
  if (slice.dims[dim]?.kind !== "at" || !Number.isFinite(index)) return slice;
  return replace(slice, dim, at(clamp(Math.trunc(index), 0, (slice.shape[dim] ?? 1) - 1)));
}

/** Narrows what is shown; the ranges count from the top left of what is shown now. */
export function zoom(slice: Slice, rows: Range | null, columns: Range): Slice {
  let zoomed = slice;
  if (slice.rows !== null && rows !== null) zoomed = narrow(zoomed, slice.rows, rows);
  return slice.columns === null ? zoomed : narrow(zoomed, slice.columns, columns);
}

export function resetZoom(slice: Slice): Slice {
  return withAxes(slice.shape, slice.dims, slice);
}

export function isZoomed(slice: Slice): boolean {
  return slice.dims.some(
    (dim, number) => dim.kind === "span" && dim.stop - dim.start < (slice.shape[number] ?? 0),
  );
}

/** The range that runs down or across. */
export function extent(slice: Slice, axis: "rows" | "columns"): Range {
  const number = slice[axis];
  const dim = number === null ? undefined : slice.dims[number];
  return dim?.kind === "span" ? dim : { start: 0, stop: 1 };
}

/** The same slice of a tensor whose shape has changed: kept as far as it fits. */
export function fitSlice(slice: Slice, shape: readonly number[]): Slice {
  if (shape.length !== slice.shape.length) return initialSlice(shape);
  const dims = slice.dims.map((dim, number): Dim => {
    const size = shape[number] ?? 0;
    if (dim.kind === "at") return at(clamp(dim.index, 0, size - 1));
    const whole = dim.start === 0 && dim.stop === slice.shape[number];
    return !whole && dim.stop <= size ? dim : span(0, size);
  });
  return { ...slice, shape, dims };
}

/** The element's own index, from a row and a column of what is shown. */
export function elementIndex(slice: Slice, row: number, column: number): number[] {
  return slice.dims.map((dim, number) => {
    if (dim.kind === "at") return dim.index;
    if (number === slice.rows) return dim.start + row;
    return dim.start + (number === slice.columns ? column : 0);
  });
}

/**
 * A rectangle of what is shown, as an index of the tensor: `0, 3:5`. The ranges count from the top
 * left of what is shown, and end where it ends.
 */
export function partText(slice: Slice, rows: Range, columns: Range): string {
  const parts = slice.dims.map((dim, number) => {
    if (dim.kind === "at") return String(dim.index);
    const range = number === slice.rows ? rows : number === slice.columns ? columns : null;
    if (range === null) return String(dim.start);
    const start = clamp(dim.start + range.start, dim.start, dim.stop - 1);
    const stop = clamp(dim.start + range.stop, start + 1, dim.stop);
    return stop - start === 1 ? String(start) : `${start}:${stop}`;
  });
  return parts.join(", ");
}

/** A slice with other axes: what becomes an axis is shown whole, what was one is at its start. */
export function withAxes(
  shape: readonly number[],
  dims: readonly Dim[],
  axes: Pick<Slice, "rows" | "columns" | "channels">,
): Slice {
  const spans = [axes.rows, axes.columns, axes.channels];
  const moved = shape.map((size, number): Dim => {
    if (spans.includes(number)) return span(0, size);
    const dim = dims[number];
    if (dim?.kind === "at") return at(clamp(dim.index, 0, size - 1));
    return at(dim?.start ?? 0);
  });
  return { shape, dims: moved, rows: axes.rows, columns: axes.columns, channels: axes.channels };
}

function narrow(slice: Slice, number: number, range: Range): Slice {
  const dim = slice.dims[number];
  if (dim?.kind !== "span") return slice;
  const start = clamp(dim.start + Math.trunc(range.start), dim.start, dim.stop - 1);
  const stop = clamp(dim.start + Math.trunc(range.stop), start + 1, dim.stop);
  return replace(slice, number, span(start, stop));
}

function replace(slice: Slice, number: number, dim: Dim): Slice {
  return { ...slice, dims: slice.dims.map((old, i) => (i === number ? dim : old)) };
}

function dimText(dim: Dim, size: number): string {
  if (dim.kind === "at") return String(dim.index);
  return dim.start === 0 && dim.stop === size ? ":" : `${dim.start}:${dim.stop}`;
}

function parseDim(entry: string, size: number): Dim | undefined {
  if (/^-?\d+$/.test(entry)) {
    const index = Number(entry) < 0 ? Number(entry) + size : Number(entry);
    return index >= 0 && index < size ? at(index) : undefined;
  }
  const match = /^(\d*):(\d*)$/.exec(entry);
  if (!match) return undefined;
  const start = match[1] ? Number(match[1]) : 0;
  const stop = match[2] ? Number(match[2]) : size;
  return start <= stop && stop <= size ? span(start, stop) : undefined;
}

function at(index: number): Dim {
  return { kind: "at", index: Math.max(0, index) };
}

function span(start: number, stop: number): Dim {
  return { kind: "span", start, stop };
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}
