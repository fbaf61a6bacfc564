/** What the panel knows and wants; the components only draw it. */
import {
  OTHER_VERSION,
  readToPanel,
  type Settings,
  type ToHost,
  type ToPanel,
} from "../../src/pure/panelMessages";
import { imageLayouts, type ImageLayout } from "../../src/pure/tensorImage";
import {
  cellQuery,
  heatQuery,
  HISTORY_QUERY,
  histogramQuery,
  imageQuery,
  pageQuery,
  type Place,
  STATS_QUERY,
  type Tab,
  type ViewQuery,
} from "../../src/pure/tensorQueries";
import { asPython } from "../../src/pure/tensorNumbers";
import type { Situation } from "../../src/pure/tensorSituation";
import { fitSlice, initialSlice, parseSlice, type Slice } from "../../src/pure/tensorSlice";
import type { TensorView } from "../../src/wire/generated";
import { Lane, type LaneHost } from "../shared/lane";
import { fromSaved, INITIAL, type Saved, savedScroll, savedSlice, toSaved, type ViewState } from "./viewState";

export interface Outside {
  post(message: ToHost): void;
  save(state: Saved): void;
  saved(): unknown;
}

/** The two pictures and the others, each with its own requests. */
export type LaneName = "stats" | "heat" | "image" | "histogram" | "values" | "cell" | "history";

export class Store {
  situation: Situation;
  settings: Settings = { colourMap: "auto", maxRows: 100 };
  view: ViewState;
  /** A sentence instead of everything. */
  broken: string | undefined;
  /** Raised with every change, so that components know to draw again. */
  revision = 0;
  readonly lanes: Readonly<Record<LaneName, Lane>>;

  /** How far the page is scrolled. */
  scroll: number;

  /** Where the statistics that are shown were taken. */
  private takenAt = "";
  private place: Place = { width: 480, height: 320 };
  private pageSize: Place = { width: 8, height: 16 };
  private cell: { readonly row: number; readonly column: number } | undefined;
  private lastId = 0;
  /** Who waits to hear what became of a change. */
  private readonly changing = new Map<number, (problem: string | null) => void>();

  constructor(
    expression: string,
    private readonly outside: Outside,
    private readonly onChange: () => void,
  ) {
    this.view = fromSaved(outside.saved());
    this.scroll = savedScroll(outside.saved());
    this.situation = {
      state: "none",
      generation: 0,
      expression,
      where: "",
      pinned: false,
      readable: false,
      type: "",
    };
    const host: LaneHost = {
      ask: (query) => this.send(query),
      cancel: (id) => {
        this.outside.post({ type: "cancel", id });
      },
      changed: () => {
        this.changed();
      },
      readable: () => this.situation.readable,
    };
    this.lanes = {
      stats: new Lane(host),
      heat: new Lane(host),
      image: new Lane(host),
      histogram: new Lane(host),
      values: new Lane(host),
      cell: new Lane(host),
      history: new Lane(host),
    };
  }

  get shape(): readonly number[] | undefined {
    return this.lanes.stats.shown && shapeOf(this.lanes.stats.shown);
  }

  get layouts(): readonly ImageLayout[] {
    return imageLayouts(this.shape ?? []);
  }

  get layout(): ImageLayout | undefined {
    return this.layouts.find((one) => one.name === this.view.layout) ?? this.layouts[0];
  }

  /** The tab that is shown: not every tensor is a picture. */
  get tab(): Tab {
    return this.view.tab === "image" && !this.layout ? "heat" : this.view.tab;
  }

  /** Where the picture is from, if now there is none. */
  get kept(): string {
    const { failure, shown } = this.lanes.stats;
    return failure !== undefined && shown ? this.takenAt : "";
  }

  /** Takes whatever arrived from the host. */
  receive(data: unknown): void {
    const message = readToPanel(data);
    if (message === undefined) return;
    if (message === "otherVersion") this.broken = OTHER_VERSION;
    else this.take(message);
    this.changed();
  }

  start(): void {
    // The host opens a panel again only by what was saved, also if nothing was shown yet.
    if (this.outside.saved() === undefined) this.save();
    this.outside.post({ type: "ready", expression: this.situation.expression });
  }

  post(message: ToHost): void {
    this.outside.post(message);
  }

  update(part: Partial<ViewState>): void {
    if (part.slice && part.slice !== this.view.slice) {
      part = { page: INITIAL.page, ...part };
      this.cell = undefined;
    }
    this.view = { ...this.view, ...part };
    this.ask();
    this.save();
    this.changed();
  }

  setPlace(place: Place): void {
    this.place = place;
    this.ask();
  }

  setPageSize(size: Place): void {
    this.pageSize = size;
    this.ask();
  }

  setScroll(scroll: number): void {
    this.scroll = scroll;
    this.save();
  }

  /** Asks for the exact value of one element. */
  look(cell: { readonly row: number; readonly column: number } | undefined): void {
    this.cell = cell;
    this.ask();
  }

  /** Why the tensor cannot be changed by its cells; nothing if it can. */
  get refusal(): string {
    const { stats } = this.lanes;
    if (stats.shown && !isSame(stats.shown.stats.shape, this.shape ?? [])) {
      return "Only what this tensor stores is shown here: its elements are changed in the debug console.";
    }
    return this.situation.readable
      ? ""
      : "The program can be changed while it stands still: pause it, or wait for a breakpoint.";
  }

  /** Puts a value into a part of the tensor; settles with the reason if that was not done. */
  change(part: string, typed: string): Promise<string | null> {
    const id = ++this.lastId;
    const { generation } = this.situation;
    return new Promise((resolve) => {
      this.changing.set(id, resolve);
      this.outside.post({ type: "change", id, generation, slice: part, value: asPython(typed) });
    });
  }

  retry(): void {
    for (const lane of Object.values(this.lanes)) if (lane.failure) lane.retry();
  }

  private take(message: ToPanel): void {
    switch (message.type) {
      case "situation":
        this.situate(message.situation);
        return;
      case "settings":
        this.settings = message.settings;
        this.ask();
        return;
      case "answer":
        this.answered(message.id, message.body);
        return;
      case "changed":
        this.changing.get(message.id)?.(message.problem);
        this.changing.delete(message.id);
        return;
      case "failure":
        for (const lane of Object.values(this.lanes)) lane.fail(message.id, message.message);
    }
  }

  private situate(situation: Situation): void {
    const isNew = situation.generation !== this.situation.generation;
    this.situation = situation;
    if (isNew) for (const lane of Object.values(this.lanes)) lane.renew();
    this.ask();
  }

  private answered(id: number, body: TensorView): void {
    for (const lane of Object.values(this.lanes)) lane.answer(id, body);
    if (body.view === "stats") this.takenAt = this.situation.where;
    const shape = shapeOf(body);
    const { slice } = this.view;
    if (!slice || !isSame(slice.shape, shape)) {
      this.view = { ...this.view, slice: this.sliceFor(shape, slice) };
      this.save();
    }
    this.ask();
  }

  private sliceFor(shape: readonly number[], before: Slice | undefined): Slice {
    if (before) return fitSlice(before, shape);
    return savedSlice(this.outside.saved(), shape) ?? initialSlice(shape);
  }

  private ask(): void {
    const wanted = this.wanted();
    for (const [name, lane] of Object.entries(this.lanes)) lane.want(wanted[name as LaneName]);
  }

  /** What is in sight, and so is asked for. */
  private wanted(): Partial<Record<LaneName, ViewQuery>> {
    const { slice, scope } = this.view;
    const stats = STATS_QUERY;
    if (!slice || slice.shape.includes(0)) return { stats };
    const history = HISTORY_QUERY;
    if (isSingle(slice.shape)) return { stats, history, cell: cellQuery(slice, 0, 0) };
    const cell = this.cell && cellQuery(slice, this.cell.row, this.cell.column);
    const rest = { stats, history, ...(cell ? { cell } : {}) };
    switch (this.tab) {
      case "heat":
        return { ...rest, heat: heatQuery(slice, this.place) };
      case "image":
        return this.layout
          ? { ...rest, image: imageQuery(slice, this.layout, this.place) }
          : rest;
      case "histogram":
        return { ...rest, histogram: histogramQuery(slice, scope) };
      case "values":
        return { ...rest, values: pageQuery(slice, this.view.page, this.page()) };
    }
  }

  /** The values that have room, within the setting. */
  private page(): Place {
    const { maxRows } = this.settings;
    const { width, height } = this.pageSize;
    return {
      width: Math.max(1, Math.min(width, maxRows)),
      height: Math.max(1, Math.min(height, maxRows)),
    };
  }

  private changed(): void {
    this.revision++;
    this.onChange();
  }

  private send(query: ViewQuery): number {
    const id = ++this.lastId;
    this.outside.post({ type: "query", id, generation: this.situation.generation, query });
    return id;
  }

  private save(): void {
    this.outside.save(toSaved(this.situation.expression, this.view, this.scroll));
  }
}

/**
 * The shape that is sliced. Of some kinds of tensors (sparse ones) only what they store can be
 * shown, and only its size on the two axes is known.
 */
export function shapeOf(view: TensorView): readonly number[] {
  const { shape } = view.stats;
  if (parseSlice(shape, view.slice, view.axes)) return shape;
  return view.axes.length > 1 ? [view.rows, view.columns] : [view.columns];
}

/** A tensor of one element, of any rank. */
export function isSingle(shape: readonly number[]): boolean {
  return shape.every((size) => size === 1);
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, number) => size === b[number]);
}
