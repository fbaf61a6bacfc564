/** What the tabs share: the slice picker, and the slice and axes of an answer. */
import { html, nothing, type TemplateResult } from "lit";
import type { ColourChoice } from "../../src/pure/tensorColours";
import type { Normalise } from "../../src/pure/tensorImage";
import type { Scope } from "../../src/pure/tensorQueries";
import { extent, isZoomed, parseSlice, type Slice } from "../../src/pure/tensorSlice";
import type { TensorView } from "../../src/wire/generated";
import type { Choice } from "../shared/controls";
import type { Axis } from "./drawHeat";
import { shapeOf, type Store } from "./store";
import "./notice";
import "./slicePicker";

export const COLOURS: readonly Choice<ColourChoice>[] = [
  { value: "auto", label: "automatic" },
  { value: "viridis", label: "viridis" },
  { value: "diverging", label: "diverging" },
  { value: "gray", label: "gray" },
];
export const SPANS: readonly Choice<Scope>[] = [
  { value: "slice", label: "values in view" },
  { value: "tensor", label: "whole tensor" },
];
export const SCOPE: readonly Choice<Scope>[] = [
  { value: "tensor", label: "whole tensor" },
  { value: "slice", label: "this slice" },
];
export const NORMALISE: readonly Choice<Normalise>[] = [
  { value: "auto", label: "automatic" },
  { value: "minmax", label: "min … max" },
  { value: "unit", label: "0 … 1" },
  { value: "byte", label: "0 … 255" },
];

/** Nothing to choose for a vector that is shown whole. */
export function picker(slice: Slice | undefined): TemplateResult | typeof nothing {
  if (!slice || (slice.shape.length < 2 && !isZoomed(slice))) return nothing;
  return html`<zt-slice-picker .slice_=${slice}></zt-slice-picker>`;
}

/** What an answer says about itself, unless it stands above the tabs already. */
export function note(store: Store, shown: TensorView | undefined): TemplateResult | typeof nothing {
  const text = shown?.note;
  if (!text || text === store.lanes.stats.shown?.note) return nothing;
  return html`<zt-notice tone="info" .text=${text}></zt-notice>`;
}

export function problem(text: string): TemplateResult {
  return html`<zt-notice tone="error" .text=${text}></zt-notice>`;
}

/** Why there is nothing to draw, whatever the view. */
export function unseen({ note, stats }: TensorView): string | undefined {
  if (stats.size === 0) return `This tensor has no elements: its shape is [${stats.shape.join(", ")}].`;
  return note !== null && stats.nan === null ? note : undefined;
}

/** The slice that an answer shows, which may be older than the one that is chosen. */
export function sliceOf(view: TensorView): Slice | undefined {
  return parseSlice(shapeOf(view), view.slice, view.axes);
}

export function axisOf(slice: Slice, axis: "rows" | "columns"): Axis | undefined {
  const dim = slice[axis];
  if (dim === null) return undefined;
  const { start, stop } = extent(slice, axis);
  return { name: `dim ${dim}`, start, size: stop - start };
}
