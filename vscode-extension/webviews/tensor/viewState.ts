/** What the user chose in the panel; kept over reloads. */
import { COLOUR_CHOICES, type ColourChoice } from "../../src/pure/tensorColours";
import { type LineChoice, LINES } from "../../src/pure/tensorHistory";
import { isRecord } from "../../src/pure/guards";
import type { Normalise } from "../../src/pure/tensorImage";
import { SCOPES, type Scope, TABS, type Tab } from "../../src/pure/tensorQueries";
import { parseSlice, type Slice, sliceAxes, sliceText } from "../../src/pure/tensorSlice";

export interface ViewState {
  readonly tab: Tab;
  readonly scope: Scope;
  /** Undefined: as the setting says. */
  readonly colourMap: ColourChoice | undefined;
  /** Colours span the values in view, or those of the whole tensor. */
  readonly span: Scope;
  readonly marks: { readonly nan: boolean; readonly inf: boolean; readonly zero: boolean };
  readonly log: boolean;
  readonly normalise: Normalise;
  /** Name of the layout that was chosen; undefined: the likeliest. */
  readonly layout: string | undefined;
  readonly page: { readonly row: number; readonly column: number };
  readonly more: boolean;
  /** Whether the history is unfolded. */
  readonly history: boolean;
  /** What its line shows. */
  readonly line: LineChoice;
  /** Undefined until the shape is known. */
  readonly slice: Slice | undefined;
}

/** What is kept: JSON, checked when it is read again. */
export interface Saved {
  readonly expression: string;
  readonly view: Omit<ViewState, "slice">;
  readonly slice: string | undefined;
  readonly axes: readonly number[] | null;
  readonly scroll: number;
}

export const INITIAL: ViewState = {
  tab: "heat",
  scope: "tensor",
  colourMap: undefined,
  span: "slice",
  marks: { nan: true, inf: true, zero: false },
  log: false,
  normalise: "auto",
  layout: undefined,
  page: { row: 0, column: 0 },
  more: false,
  history: true,
  line: "deviation",
  slice: undefined,
};

export function toSaved(expression: string, view: ViewState, scroll: number): Saved {
  const { slice, ...rest } = view;
  return {
    expression,
    view: rest,
    slice: slice && sliceText(slice),
    axes: slice ? axesOf(slice) : null,
    scroll: Math.round(scroll),
  };
}

/** Reads what another version may have saved: what does not fit is as at first. */
export function fromSaved(saved: unknown): ViewState {
  const view = isRecord(saved) ? saved["view"] : undefined;
  if (!isRecord(view)) return INITIAL;
  const marks = isRecord(view["marks"]) ? view["marks"] : {};
  const page = isRecord(view["page"]) ? view["page"] : {};
  return {
    tab: oneOf(TABS, view["tab"]) ?? INITIAL.tab,
    scope: oneOf(SCOPES, view["scope"]) ?? INITIAL.scope,
    colourMap: oneOf(COLOUR_CHOICES, view["colourMap"]),
    span: oneOf(SCOPES, view["span"]) ?? INITIAL.span,
    marks: {
      nan: marks["nan"] !== false,
      inf: marks["inf"] !== false,
      zero: marks["zero"] === true,
    },
    log: view["log"] === true,
    normalise: oneOf(["auto", "minmax", "unit", "byte"], view["normalise"]) ?? INITIAL.normalise,
    layout: typeof view["layout"] === "string" ? view["layout"] : undefined,
    page: { row: count(page["row"]), column: count(page["column"]) },
    more: view["more"] === true,
    history: view["history"] !== false,
    line: oneOf(LINES, view["line"]) ?? INITIAL.line,
    slice: undefined,
  };
}

/** The slice that was saved, if it fits the shape. */
export function savedSlice(saved: unknown, shape: readonly number[]): Slice | undefined {
  if (!isRecord(saved) || typeof saved["slice"] !== "string") return undefined;
  const axes: unknown = saved["axes"];
  if (!Array.isArray(axes) || !axes.every((axis) => typeof axis === "number")) return undefined;
  return parseSlice(shape, saved["slice"], axes);
}

export function savedScroll(saved: unknown): number {
  return isRecord(saved) ? count(saved["scroll"]) : 0;
}

function axesOf(slice: Slice): readonly number[] {
  return sliceAxes(slice) ?? [slice.rows, slice.columns].filter((axis) => axis !== null);
}

function oneOf<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.find((one) => one === value);
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
