/** What a tab shows: the slice picker, a picture with its controls, and a line about a cell. */
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import type { ColourChoice } from "../../src/pure/tensorColours";
import { countMarks, decodeImage, type Pixels } from "../../src/pure/tensorData";
import type { Normalise } from "../../src/pure/tensorImage";
import { imageSlice } from "../../src/pure/tensorImage";
import type { Scope, Place } from "../../src/pure/tensorQueries";
import { extent, parseSlice, type Slice } from "../../src/pure/tensorSlice";
import type { Image, TensorView } from "../../src/wire/generated";
import { type Choice, field, iconToggle, select } from "../shared/controls";
import type { Mark } from "../shared/marks";
import { base } from "../shared/styles";
import type { Axis } from "./drawHeat";
import type { CellPlace } from "./picture";
import { type Readout, readout } from "./readout";
import type { Store } from "./store";
import "./histogram";
import "./legend";
import "./line";
import "./picture";
import "./slicePicker";
import "./values";

const COLOURS: readonly Choice<ColourChoice>[] = [
  { value: "auto", label: "automatic" },
  { value: "viridis", label: "viridis" },
  { value: "diverging", label: "diverging" },
  { value: "gray", label: "gray" },
];
const SPANS: readonly Choice<Scope>[] = [
  { value: "slice", label: "values in view" },
  { value: "tensor", label: "whole tensor" },
];
const SCOPE: readonly Choice<Scope>[] = [
  { value: "tensor", label: "whole tensor" },
  { value: "slice", label: "this slice" },
];
const NORMALISE: readonly Choice<Normalise>[] = [
  { value: "auto", label: "automatic" },
  { value: "minmax", label: "min … max" },
  { value: "unit", label: "0 … 1" },
  { value: "byte", label: "0 … 255" },
];

/** The exact value is asked for once the pointer rests. */
const REST_MS = 80;

export class Views extends LitElement {
  static override properties = {
    store: { attribute: false },
    revision: { attribute: false },
    cell: { state: true },
    binText: { state: true },
  };
  static override styles = [
    base,
    css`
      :host {
        display: flex;
        flex-direction: column;
        gap: 10px;
      }
      .field {
        display: inline-flex;
        align-items: center;
        gap: 6px;
        color: var(--vscode-descriptionForeground);
      }
      .tools {
        min-height: 28px;
      }
      zt-picture,
      zt-histogram,
      zt-line {
        height: clamp(220px, calc(100vh - 350px), 620px);
      }
      zt-line,
      zt-histogram {
        max-height: 380px;
      }
      zt-values {
        height: clamp(240px, calc(100vh - 320px), 720px);
      }
      .readout {
        display: flex;
        gap: 12px;
        min-height: 20px;
        font-family: var(--vscode-editor-font-family, monospace);
        font-size: 12px;
        font-variant-numeric: tabular-nums;
      }
      .stale {
        opacity: 0.5;
      }
    `,
  ];

  declare store: Store;
  declare revision: number;
  declare private cell: CellPlace | undefined;
  declare private binText: string;
  private restTimer: ReturnType<typeof setTimeout> | undefined;
  private decoded: { readonly image: Image; readonly pixels: Pixels } | undefined;

  constructor() {
    super();
    this.binText = "";
  }

  override render(): TemplateResult {
    const { store } = this;
    switch (store.tab) {
      case "heat":
        return html`${this.picker(store.view.slice)} ${this.heat(store)}`;
      case "image":
        return html`${this.picker(this.pictured(store))} ${this.image(store)}`;
      case "histogram":
        return this.histogram(store);
      case "values":
        return html`${this.picker(store.view.slice)} ${this.values(store)}`;
    }
  }

  private picker(slice: Slice | undefined): TemplateResult {
    return html`<zt-slice-picker .slice_=${slice}></zt-slice-picker>`;
  }

  private pictured(store: Store): Slice | undefined {
    const { slice } = store.view;
    return slice && store.layout ? imageSlice(slice, store.layout) : slice;
  }

  private heat(store: Store): TemplateResult {
    const { view } = store;
    const shown = store.lanes.heat.shown;
    const pixels = shown?.image ? this.decode(shown.image) : undefined;
    const tools = html`${field(
        "Colours",
        select("Colours", view.colourMap ?? store.settings.colourMap, COLOURS, (colourMap) => {
          store.update({ colourMap });
        }),
      )}
      ${view.more
        ? field(
            "span",
            select("Colours span", view.span, SPANS, (span) => {
              store.update({ span });
            }),
          )
        : nothing}`;
    const isLine = shown ? shown.axes.length < 2 : view.slice?.rows === null;
    return html`${this.toolbar(store, pixels, isLine ? nothing : tools)}
    ${shown?.note ? html`<zt-notice tone="info" .text=${shown.note}></zt-notice>` : nothing}
    ${isLine ? this.line(store, shown, pixels) : this.matrix(store, shown, pixels)}
    ${this.readout(store, shown, pixels, null)}`;
  }

  private matrix(
    store: Store,
    shown: TensorView | undefined,
    pixels: Pixels | undefined,
  ): TemplateResult {
    const slice = shown && sliceOf(shown);
    const { min, max } = store.lanes.stats.shown?.stats ?? { min: null, max: null };
    const isWhole = store.view.span === "tensor" && min !== null && max !== null;
    return html`<zt-picture
      mode="heat"
      label=${`Heat map of ${store.situation.expression}[${shown?.slice ?? ""}]`}
      .pixels=${pixels}
      .rows=${slice && axisOf(slice, "rows")}
      .columns=${slice && axisOf(slice, "columns")}
      .colourMap=${store.view.colourMap ?? store.settings.colourMap}
      .span=${isWhole ? { low: min, high: max } : undefined}
      .marks=${shownMarks(store)}
      .cell=${this.cell}
      @zt-place=${this.onPlace}
      @zt-cell=${this.onCell}
    ></zt-picture>`;
  }

  private line(
    store: Store,
    shown: TensorView | undefined,
    pixels: Pixels | undefined,
  ): TemplateResult {
    const slice = shown && sliceOf(shown);
    return html`<zt-line
      label=${`Line of ${store.situation.expression}[${shown?.slice ?? ""}]`}
      .pixels=${pixels}
      .axis=${slice && axisOf(slice, "columns")}
      .marks=${shownMarks(store)}
      .cell=${this.cell?.column}
      @zt-place=${this.onPlace}
      @zt-cell=${this.onCell}
    ></zt-line>`;
  }

  private image(store: Store): TemplateResult {
    const { view, layout } = store;
    const shown = store.lanes.image.shown;
    const pixels = shown?.image ? this.decode(shown.image) : undefined;
    const slice = shown && sliceOf(shown);
    const tools = html`${store.layouts.length > 1 && layout
      ? field(
          "Layout",
          select(
            "Layout",
            layout.name,
            store.layouts.map(({ name }) => ({ value: name, label: name })),
            (name) => {
              store.update({ layout: name });
            },
          ),
        )
      : nothing}
    ${field(
      "Black … white",
      select("Black to white", view.normalise, NORMALISE, (normalise) => {
        store.update({ normalise });
      }),
    )}`;
    return html`${this.toolbar(store, pixels, tools)}
      ${shown?.note ? html`<zt-notice tone="info" .text=${shown.note}></zt-notice>` : nothing}
      <zt-picture
        mode="image"
        label=${`Picture of ${store.situation.expression}[${shown?.slice ?? ""}]`}
        .pixels=${pixels}
        .rows=${slice && axisOf(slice, "rows")}
        .columns=${slice && axisOf(slice, "columns")}
        .normalise=${view.normalise}
        .dtype=${shown?.stats.dtype ?? ""}
        .marks=${shownMarks(store)}
        .cell=${this.cell}
        @zt-place=${this.onPlace}
        @zt-cell=${this.onCell}
      ></zt-picture>
      ${this.readout(store, shown, pixels, layout?.channels ?? null)}`;
  }

  private toolbar(
    store: Store,
    pixels: Pixels | undefined,
    tools: TemplateResult | typeof nothing,
  ): TemplateResult {
    const isBlocks = pixels !== undefined && pixels.rowStep * pixels.columnStep > 1;
    return html`<div class="row tools">
      <zt-legend
        .counts=${pixels && countMarks(pixels.marks)}
        .shown=${store.view.marks}
        .blocks=${isBlocks}
        @zt-marks=${(event: CustomEvent<Store["view"]["marks"]>) => {
          store.update({ marks: event.detail });
        }}
      ></zt-legend>
      <span class="grow"></span>
      ${tools}
      ${store.tab === "heat" && tools !== nothing
        ? iconToggle("ellipsis", "More", store.view.more, (more) => {
            store.update({ more });
          })
        : nothing}
    </div>`;
  }

  private readout(
    store: Store,
    shown: TensorView | undefined,
    pixels: Pixels | undefined,
    channels: number | null,
  ): TemplateResult {
    const about = shown && pixels && this.about(store, shown, pixels, channels);
    if (about) {
      return html`<div class="readout" aria-live="polite">
        <span class="faint">${about.index}</span><span>${about.value}</span>
      </div>`;
    }
    return html`<div class="readout faint" aria-live="polite">${hint(pixels)}</div>`;
  }

  private about(
    store: Store,
    shown: TensorView,
    pixels: Pixels,
    channels: number | null,
  ): Readout | undefined {
    const slice = sliceOf(shown);
    const { cell } = this;
    if (!slice || !cell || cell.row >= pixels.height || cell.column >= pixels.width) return undefined;
    const { cell: lane } = store.lanes;
    const page = channels === null && lane.current ? lane.shown?.page : undefined;
    const isHere =
      page?.row === cell.row * pixels.rowStep && page.column === cell.column * pixels.columnStep;
    const known = isHere ? page.cells[0]?.[0] : undefined;
    return readout({ ...slice, channels }, pixels, cell, known);
  }

  private histogram(store: Store): TemplateResult {
    const shown = store.lanes.histogram.shown;
    const { view } = store;
    const note = shown?.note ?? (shown && !shown.histogram ? NO_HISTOGRAM : undefined);
    return html`<div class="row tools">
        ${(view.slice?.shape.length ?? 0) > 1
          ? field(
              "Of",
              select("Statistics and histogram of", view.scope, SCOPE, (scope) => {
                store.update({ scope });
              }),
            )
          : nothing}
        <vscode-checkbox
          label="Log scale"
          ?checked=${view.log}
          @change=${(event: Event) => {
            store.update({ log: (event.target as HTMLInputElement).checked });
          }}
        ></vscode-checkbox>
        ${shown?.histogram?.sampled
          ? html`<vscode-badge title="Counts are of a sample of the elements.">sampled</vscode-badge>`
          : nothing}
      </div>
      ${view.scope === "slice" ? this.picker(view.slice) : nothing}
      ${note ? html`<zt-notice tone="info" .text=${note}></zt-notice>` : nothing}
      <zt-histogram
        .counts=${shown?.histogram ?? undefined}
        .stats=${store.lanes.stats.shown?.stats}
        .log=${view.log}
        @zt-readout=${(event: CustomEvent<string>) => {
          this.binText = event.detail;
        }}
      ></zt-histogram>
      <div class="readout ${this.binText ? "" : "faint"}" aria-live="polite">
        ${this.binText || "Point at a bar to see its range and count."}
      </div>`;
  }

  private values(store: Store): TemplateResult {
    const shown = store.lanes.values.shown;
    const slice = shown && sliceOf(shown);
    return html`${shown?.note
        ? html`<zt-notice tone="info" .text=${shown.note}></zt-notice>`
        : nothing}
      <zt-values
        .page=${shown?.page ?? undefined}
        .rows=${slice && extent(slice, "rows")}
        .columns=${slice && extent(slice, "columns")}
        @zt-page=${(event: CustomEvent<CellPlace>) => {
          store.update({ page: event.detail });
        }}
        @zt-page-size=${(event: CustomEvent<Place>) => {
          store.setPageSize(event.detail);
        }}
      ></zt-values>`;
  }

  private decode(image: Image): Pixels {
    if (this.decoded?.image !== image) this.decoded = { image, pixels: decodeImage(image) };
    return this.decoded.pixels;
  }

  private onPlace(event: CustomEvent<Place>): void {
    this.store.setPlace(event.detail);
  }

  private onCell(event: CustomEvent<CellPlace | undefined>): void {
    this.cell = event.detail;
    clearTimeout(this.restTimer);
    const { store } = this;
    if (!this.cell || store.tab !== "heat" || !this.decoded) return;
    const { rowStep, columnStep } = this.decoded.pixels;
    if (rowStep * columnStep > 1) return; // a mean has no exact value to ask for
    const { cell } = this;
    this.restTimer = setTimeout(() => {
      store.look(cell);
    }, REST_MS);
  }
}

const NO_HISTOGRAM = "There are no finite values to count.";

/** The slice that an answer shows, which may be older than the one that is chosen. */
function sliceOf(view: TensorView): Slice | undefined {
  return parseSlice(view.stats.shape, view.slice, view.axes);
}

function axisOf(slice: Slice, axis: "rows" | "columns"): Axis | undefined {
  const dim = slice[axis];
  if (dim === null) return undefined;
  const { start, stop } = extent(slice, axis);
  return { name: `dim ${dim}`, start, size: stop - start };
}

function shownMarks(store: Store): Mark[] {
  const { marks } = store.view;
  return (["zero", "inf", "nan"] as const).filter((mark) => marks[mark]);
}

function hint(pixels: Pixels | undefined): string {
  if (!pixels) return "";
  const { rowStep, columnStep, height } = pixels;
  const sampled = pixels.sampled ? ", of a sample" : "";
  const block = height > 1 ? `${rowStep} × ${columnStep}` : String(columnStep);
  const scale =
    rowStep * columnStep > 1 ? `A cell is the mean of ${block} elements${sampled}. ` : "";
  return `${scale}Drag over a part, or double-click, to zoom in.`;
}

customElements.define("zt-views", Views);
