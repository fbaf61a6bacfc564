/** What the panel must ask for to show what the user chose. */
import type { TensorQuery } from "../wire/generated";
import { type ImageLayout, imageSlice } from "./tensorImage";
import { type Slice, sliceAxes, sliceText } from "./tensorSlice";

export const VIEWS = ["stats", "histogram", "image", "page", "history"] as const;

/** A query without the expression and the frame, which the host knows. */
export type ViewQuery = Omit<TensorQuery, "expression" | "frame_id" | "view"> & {
  readonly view: (typeof VIEWS)[number];
};

export const TABS = ["heat", "image", "histogram", "values"] as const;
export type Tab = (typeof TABS)[number];

/** Histogram and colours: of everything, or of what the slice picker shows. */
export const SCOPES = ["tensor", "slice"] as const;
export type Scope = (typeof SCOPES)[number];

/** Size in pixels of the place for a picture. */
export interface Place {
  readonly width: number;
  readonly height: number;
}

/** A picture has at most this many cells a side: more is not seen, only carried. */
const MOST_CELLS = 512;
const RESIZE_STEP = 16;
const BINS = 80;

/** Statistics are of the whole tensor, always. */
export const STATS_QUERY: ViewQuery = { view: "stats" };

/** Of the whole tensor, too: by asking, the panel watches its expression. */
export const HISTORY_QUERY: ViewQuery = { view: "history" };

export function histogramQuery(slice: Slice, scope: Scope): ViewQuery {
  return { view: "histogram", ...(scope === "slice" ? placed(slice) : {}), width: BINS };
}

export function heatQuery(slice: Slice, place: Place): ViewQuery {
  return { view: "image", ...placed(slice), ...cells(place) };
}

export function imageQuery(slice: Slice, layout: ImageLayout, place: Place): ViewQuery {
  return {
    view: "image",
    ...placed(imageSlice(slice, layout)),
    channels: layout.channels,
    ...cells(place),
  };
}

export function pageQuery(
  slice: Slice,
  from: { readonly row: number; readonly column: number },
  size: Place,
): ViewQuery {
  return { view: "page", ...placed(slice), ...from, width: size.width, height: size.height };
}

/** One element, exact. */
export function cellQuery(slice: Slice, row: number, column: number): ViewQuery {
  return pageQuery(slice, { row, column }, { width: 1, height: 1 });
}

function placed(slice: Slice): Partial<ViewQuery> {
  const axes = sliceAxes(slice);
  if (slice.shape.length === 0) return {};
  return { slice: sliceText(slice), ...(axes ? { axes } : {}) };
}

function cells(place: Place): Place {
  return { width: cellsAcross(place.width), height: cellsAcross(place.height) };
}

/** In steps, so that a window that is being resized does not ask at every pixel. */
function cellsAcross(pixels: number): number {
  const steps = Math.floor(pixels / RESIZE_STEP) * RESIZE_STEP;
  return Math.max(1, Math.min(MOST_CELLS, steps || Math.floor(pixels)));
}
