/** A tensor as a heat map, a line or a picture: its controls, and a line about a cell. */
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { countMarks, decodeImage, type Pixels } from "../../src/pure/tensorData";
import { imageSlice } from "../../src/pure/tensorImage";
import type { Place } from "../../src/pure/tensorQueries";
import { partText, type Slice } from "../../src/pure/tensorSlice";
import type { Image, TensorView } from "../../src/wire/generated";
import { field, iconToggle, select } from "../shared/controls";
import type { Mark } from "../shared/marks";
import { type Brush, brushProblem, brushTools, NO_BRUSH } from "./paint";
import type { CellPlace, PictureEvents } from "./picture";
import { type Readout, readout } from "./readout";
import type { Store } from "./store";
import { axisOf, COLOURS, NORMALISE, note, picker, problem, sliceOf, SPANS } from "./viewParts";
import { viewStyles } from "./viewStyles";
import "./legend";
import "./line";
import "./picture";

/** The exact value is asked for once the pointer rests. */
const REST_MS = 80;

export class PictureView extends LitElement {
  static override properties = {
    store: { attribute: false },
    revision: { attribute: false },
    cell: { state: true },
    brush: { state: true },
  };
  static override styles = viewStyles;

  declare store: Store;
  declare revision: number;
  declare private cell: CellPlace | undefined;
  declare private brush: Brush;
  private restTimer: ReturnType<typeof setTimeout> | undefined;
  private trouble = "";
  private decoded: { readonly image: Image; readonly pixels: Pixels } | undefined;

  constructor() {
    super();
    this.brush = NO_BRUSH;
  }

  override render(): TemplateResult {
    const { store } = this;
    return store.tab === "image"
      ? html`${picker(this.pictured(store))} ${this.image(store)}`
      : html`${picker(store.view.slice)} ${this.heat(store)}`;
  }

  private pictured(store: Store): Slice | undefined {
    const { slice } = store.view;
    return slice && store.layout ? imageSlice(slice, store.layout) : slice;
  }

  private heat(store: Store): TemplateResult {
    const { view } = store;
    const shown = store.lanes.heat.shown;
    const pixels = this.decode(shown);
    const tools = html`${store.refusal ? nothing : brushTools(this.brush, this.onBrush)}${field(
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
    if (shown && !shown.image) return html`${note(store, shown)}`;
    return html`${this.toolbar(store, pixels, isLine ? nothing : tools)}
    ${this.trouble ? problem(this.trouble) : nothing} ${brushProblem(this.brush, this.onBrush)}
    ${this.readout(store, shown, pixels, null)}
    ${isLine ? this.line(store, shown, pixels) : this.matrix(store, shown, pixels)}`;
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
      ?paints=${this.isPainting}
      @zt-place=${this.onPlace}
      @zt-cell=${this.onCell}
      @zt-paint=${this.onPaint}
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
    const pixels = this.decode(shown);
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
    if (shown && !shown.image) return html`${note(store, shown)}`;
    return html`${this.toolbar(store, pixels, tools)}
      ${this.trouble ? problem(this.trouble) : nothing}
      ${this.readout(store, shown, pixels, layout?.channels ?? null)}
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
      ></zt-picture>`;
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
    const remark = shown?.note ? `${shown.note} ` : "";
    return html`<div class="readout faint" aria-live="polite">${remark}${this.hint(pixels)}</div>`;
  }

  private hint(pixels: Pixels | undefined): string {
    const isMatrix = this.store.tab === "heat" && (pixels?.height ?? 0) > 1;
    if (!this.isPainting || !isMatrix) return hint(pixels);
    return this.brush.isBusy ? "Changing the program …" : `${scaleOf(pixels)}Drag over cells to set them.`;
  }

  private get isPainting(): boolean {
    return this.brush.isOn && !this.store.refusal;
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

  /** The picture of an answer, unpacked once; what cannot be unpacked is said in its place. */
  private decode(shown: TensorView | undefined): Pixels | undefined {
    const image = shown?.image;
    if (!image) return undefined;
    if (this.decoded?.image === image) return this.decoded.pixels;
    try {
      this.trouble = "";
      this.decoded = { image, pixels: decodeImage(image) };
      return this.decoded.pixels;
    } catch (error) {
      this.trouble = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  }

  private readonly onBrush = (part: Partial<Brush>): void => {
    this.brush = { ...this.brush, ...part };
  };

  private async onPaint(event: PictureEvents["zt-paint"]): Promise<void> {
    const slice = this.store.lanes.heat.shown && sliceOf(this.store.lanes.heat.shown);
    const { value, isBusy } = this.brush;
    if (!slice || isBusy) return;
    if (value.trim() === "") {
      this.onBrush({ problem: "Say what to paint: a number, or an expression of the stopped frame." });
      return;
    }
    this.onBrush({ isBusy: true, problem: "" });
    const part = partText(slice, event.detail.rows, event.detail.columns);
    const problem = await this.store.change(part, value);
    this.onBrush({ isBusy: false, problem: problem ?? "" });
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

function shownMarks(store: Store): Mark[] {
  const { marks } = store.view;
  return (["zero", "inf", "nan"] as const).filter((mark) => marks[mark]);
}

function hint(pixels: Pixels | undefined): string {
  return pixels ? `${scaleOf(pixels)}Drag over a part, or double-click, to zoom in.` : "";
}

function scaleOf(pixels: Pixels | undefined): string {
  const { rowStep = 1, columnStep = 1, height = 1 } = pixels ?? {};
  const block = height > 1 ? `${rowStep} × ${columnStep}` : String(columnStep);
  return rowStep * columnStep > 1 ? `A ${height > 1 ? "cell" : "point"} is the mean of ${block} elements. ` : "";
}

customElements.define("zt-picture-view", PictureView);
