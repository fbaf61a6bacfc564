/** The histogram and its controls. */
import "@vscode-elements/elements/dist/vscode-badge/index.js";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import { html, LitElement, nothing, type TemplateResult } from "lit";
import type { TensorView } from "../../src/wire/generated";
import { field, select } from "../shared/controls";
import type { Store } from "./store";
import { note, picker, SCOPE } from "./viewParts";
import { viewStyles } from "./viewStyles";
import "./histogram";

export class HistogramView extends LitElement {
  static override properties = {
    store: { attribute: false },
    revision: { attribute: false },
    binText: { state: true },
  };
  static override styles = viewStyles;

  declare store: Store;
  declare revision: number;
  declare private binText: string;

  constructor() {
    super();
    this.binText = "";
  }

  override render(): TemplateResult {
    const { store } = this;
    const shown = store.lanes.histogram.shown;
    const { view } = store;
    return html`<div class="row tools">
        ${(view.slice?.shape.length ?? 0) > 1
          ? field(
              "Of",
              select("Histogram of", view.scope, SCOPE, (scope) => {
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
      ${view.scope === "slice" ? picker(view.slice) : nothing}
      ${note(store, shown)}
      ${shown && !shown.histogram ? nothing : this.plot(store, shown)}`;
  }

  private plot(store: Store, shown: TensorView | undefined): TemplateResult {
    const { view } = store;
    return html`<div class="readout ${this.binText ? "" : "faint"}" aria-live="polite">
        ${this.binText || "Point at a bar to see its range and count."}
      </div>
      <zt-histogram
        .counts=${shown?.histogram ?? undefined}
        .stats=${view.scope === "tensor" ? store.lanes.stats.shown?.stats : undefined}
        .log=${view.log}
        @zt-readout=${(event: CustomEvent<string>) => {
          this.binText = event.detail;
        }}
      ></zt-histogram>`;
  }
}

customElements.define("zt-histogram-view", HistogramView);
