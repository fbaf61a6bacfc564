/** The Tensor panel: what is in it? */
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { isSingle, type LaneName, type Outside, Store } from "./store";
import { hasHistory } from "../../src/pure/tensorHistory";
import { TABS, type Tab } from "../../src/pure/tensorQueries";
import { advice } from "../../src/pure/tensorSituation";
import { resetZoom, type Slice, zoom } from "../../src/pure/tensorSlice";
import { appStyles } from "./appStyles";
import "./header";
import "./notice";
import "./slicePicker";
import "./stats";
import "./scalar";
import "./historyView";
import "./pictureView";
import "./histogramView";
import "./valuesView";
import type { PictureEvents } from "./picture";
import { unseen } from "./viewParts";

const PROGRESS: readonly LaneName[] = ["stats", "heat", "image", "histogram", "values"];

const SELECT_A_FRAME = "The tensor is read in the frame that is selected in the Call Stack.";

export class TensorApp extends LitElement {
  static override styles = appStyles;

  private store: Store | undefined;
  private isScrolled = false;

  /** Begins to talk with the extension host. */
  start(outside: Outside): void {
    this.store = new Store(this.dataset["expression"] ?? "", outside, () => {
      this.requestUpdate();
    });
    window.addEventListener("message", this.onMessage);
    window.addEventListener("scroll", this.onScroll, { passive: true });
    this.store.start();
    this.requestUpdate();
  }

  /** Something of ours went wrong: a sentence is better than half a panel. */
  fail(error: unknown): void {
    if (!this.store) return;
    const what = error instanceof Error ? error.message : String(error);
    this.store.broken = `Something in this panel went wrong, which is our mistake: ${what}`;
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("message", this.onMessage);
    window.removeEventListener("scroll", this.onScroll);
  }

  /** The place on the page is found again once there is something on it. */
  protected override updated(): void {
    const { store } = this;
    if (this.isScrolled || !store?.view.slice) return;
    this.isScrolled = true;
    const { scroll } = store;
    if (scroll > 0) requestAnimationFrame(() => { window.scrollTo(0, scroll); });
  }

  override render(): TemplateResult | typeof nothing {
    const { store } = this;
    if (!store) return nothing;
    if (store.broken) {
      return this.notice("error", "", store.broken, "Reload", () => {
        store.post({ type: "reload" });
      });
    }
    const isSlow = PROGRESS.some((name) => store.lanes[name].slow);
    return html`${isSlow
        ? html`<vscode-progress-bar class="progress" indeterminate></vscode-progress-bar>`
        : nothing}
      <zt-header
        .view=${store.lanes.stats.shown}
        .situation=${store.situation}
        .kept=${store.kept}
        @zt-refresh=${() => {
          store.post({ type: "refresh" });
        }}
        @zt-break=${() => {
          store.post({ type: "action", action: "breakWhenChanged" });
        }}
        @zt-change=${() => {
          store.post({ type: "action", action: "changeTensor" });
        }}
        @zt-pin=${(event: CustomEvent<boolean>) => {
          store.post({ type: "pin", pinned: event.detail });
        }}
        @zt-copy=${this.onCopy}
      ></zt-header>
      ${this.body(store)}`;
  }

  private body(store: Store): TemplateResult {
    const { stats } = store.lanes;
    if (!stats.shown) return this.nothingYet(store);
    const isDim = store.situation.state !== "stopped" || stats.failure !== undefined;
    const isLong = store.view.history && hasHistory(store.lanes.history.shown?.history);
    return html`${this.problems(store)}
      <div class="kept ${isDim ? "dim" : ""} ${isLong ? "long" : ""}" @zt-copy=${this.onCopy}>
        ${this.content(store)}
      </div>`;
  }

  /** Nothing has been shown yet: why, and what to do. */
  private nothingYet(store: Store): TemplateResult {
    const { failure } = store.lanes.stats;
    if (failure) {
      return this.notice("error", "", failure, "Retry", () => {
        store.retry();
      });
    }
    const why = advice(store.situation);
    if (!why && !store.situation.readable) return this.notice("empty", "", SELECT_A_FRAME, "", () => undefined);
    if (!why) {
      const hidden = store.lanes.stats.slow ? "faint" : "sr"; // most answers come at once
      return html`<div role="status" class=${hidden}>Reading the tensor…</div>`;
    }
    const { state } = store.situation;
    if (state === "none" || state === "ended") {
      return this.notice("empty", why.title, why.text, "Start Debugging", () => {
        store.post({ type: "action", action: "startDebugging" });
      });
    }
    if (state === "foreign") return this.foreign(store);
    return this.notice("empty", why.title, why.text, "", () => undefined);
  }

  private foreign(store: Store): TemplateResult {
    const why = advice(store.situation);
    return html`<zt-notice
      tone="empty"
      icon="debug-disconnect"
      .heading=${why?.title ?? ""}
      .text=${why?.text ?? ""}
      button="Copy Adapter Path"
      @zt-button=${() => {
        store.post({ type: "action", action: "copyAdapterPath" });
      }}
    ></zt-notice>`;
  }

  /** Why what is shown is not what was asked for. */
  private problems(store: Store): TemplateResult | typeof nothing {
    if (store.situation.state === "foreign") return this.foreign(store);
    const failures = new Set(PROGRESS.map((name) => store.lanes[name].failure));
    const [failure] = [...failures].filter((one) => one !== undefined);
    if (failure !== undefined) {
      return this.notice("error", "", failure, "Retry", () => {
        store.retry();
      });
    }
    const isWaiting = PROGRESS.some((name) => !store.lanes[name].current);
    if (!isWaiting || store.situation.readable || store.situation.where === "") return nothing;
    const text = store.situation.pinned
      ? "This part was not read before the program went on. Unpin the panel to see what is there now."
      : "This part is read at the next stop.";
    return html`<zt-notice tone="info" .text=${text}></zt-notice>`;
  }

  private content(store: Store): TemplateResult | typeof nothing {
    const { slice } = store.view;
    const seen = store.lanes.stats.shown;
    if (!slice || !seen) return nothing;
    const why = unseen(seen);
    if (why) return html`<zt-notice tone="empty" icon="circle-slash" .text=${why}></zt-notice>`;
    const history = html`<zt-history-view
      .store=${store}
      .revision=${store.revision}
    ></zt-history-view>`;
    if (isSingle(slice.shape)) return html`${this.single(store)}${history}`;
    return html`<zt-stats .stats=${seen.stats}></zt-stats>
      ${history}
      ${seen.note ? html`<zt-notice tone="info" .text=${seen.note}></zt-notice>` : nothing}
      ${this.viewer(store)}`;
  }

  private single(store: Store): TemplateResult {
    const { shown, failure } = store.lanes.cell;
    if (failure === undefined) return html`<zt-scalar .view=${shown}></zt-scalar>`;
    return this.notice("error", "", failure, "Retry", () => {
      store.retry();
    });
  }

  private viewer(store: Store): TemplateResult {
    return html`<div role="tablist" aria-label="View" @keydown=${this.onTabKey}>
        ${this.tabs(store).map((tab) => this.tabButton(store, tab))}
      </div>
      <div
        class="panel"
        role="tabpanel"
        id="view"
        aria-labelledby="tab-${store.tab}"
        @zt-slice=${(event: CustomEvent<Slice>) => {
          store.update({ slice: event.detail });
        }}
        @zt-zoom=${this.onZoom}
      >
        ${tabView(store)}
      </div>`;
  }

  private tabs(store: Store): readonly Tab[] {
    return TABS.filter((tab) => tab !== "image" || store.layout);
  }

  private tabButton(store: Store, tab: Tab): TemplateResult {
    const isShown = store.tab === tab;
    return html`<button
      role="tab"
      id="tab-${tab}"
      aria-selected=${isShown}
      aria-controls="view"
      tabindex=${isShown ? 0 : -1}
      @click=${() => {
        store.update({ tab });
      }}
    >
      ${tabName(tab, store.view.slice)}
    </button>`;
  }

  private onTabKey(event: KeyboardEvent): void {
    const { store } = this;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!store || step === undefined) return;
    const tabs = this.tabs(store);
    const tab = tabs[(tabs.indexOf(store.tab) + step + tabs.length) % tabs.length];
    if (!tab) return;
    event.preventDefault();
    store.update({ tab });
    void this.updateComplete.then(() => {
      this.renderRoot.querySelector<HTMLElement>(`#tab-${tab}`)?.focus();
    });
  }

  private onZoom(event: PictureEvents["zt-zoom"]): void {
    const { store } = this;
    const slice = store?.view.slice;
    if (!store || !slice) return;
    const { detail } = event;
    store.update({ slice: detail ? zoom(slice, detail.rows, detail.columns) : resetZoom(slice) });
  }

  private readonly onScroll = (): void => {
    if (this.isScrolled) this.store?.setScroll(window.scrollY);
  };

  private readonly onMessage = (event: MessageEvent<unknown>): void => {
    this.store?.receive(event.data);
  };

  private onCopy(event: CustomEvent<string>): void {
    event.stopPropagation();
    this.store?.post({ type: "copy", text: event.detail });
  }

  private notice(
    tone: string,
    heading: string,
    text: string,
    button: string,
    click: () => void,
  ): TemplateResult {
    return html`<zt-notice
      tone=${tone}
      .heading=${heading}
      .text=${text}
      .button=${button}
      @zt-button=${click}
    ></zt-notice>`;
  }
}

function tabView(store: Store): TemplateResult {
  const { revision } = store;
  switch (store.tab) {
    case "heat":
    case "image":
      return html`<zt-picture-view .store=${store} .revision=${revision}></zt-picture-view>`;
    case "histogram":
      return html`<zt-histogram-view .store=${store} .revision=${revision}></zt-histogram-view>`;
    case "values":
      return html`<zt-values-view .store=${store} .revision=${revision}></zt-values-view>`;
  }
}

function tabName(tab: Tab, slice: Slice | undefined): string {
  switch (tab) {
    case "heat":
      return slice?.rows === null ? "Line" : "Heat map";
    case "image":
      return "Image";
    case "histogram":
      return "Histogram";
    case "values":
      return "Values";
  }
}

customElements.define("zt-tensor", TensorApp);
