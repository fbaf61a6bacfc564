/** The histogram and its controls. */
import "@vscode-elements/elements/dist/vscode-badge/index.js";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { field, select } from "../shared/controls";
import type { Store } from "./store";
import { note, picker, SCOPE } from "./viewParts";
import { viewStyles } from "./viewStyles";
import "./histogram";

const NO_HISTOGRAM = "There are no finite values to count.";

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
    const why = shown?.note ?? (shown && !shown.histogram ? NO_HISTOGRAM : undefined);
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
      ${view.scope === "slice" ? picker(view.slice) : nothing}
      ${note(why)}
      <div class="readout ${this.binText ? "" : "faint"}" aria-live="polite">
        ${this.binText || "Point at a bar to see its range and count."}
      </div>
      <zt-histogram
        .counts=${shown?.histogram ?? undefined}
        .stats=${store.lanes.stats.shown?.stats}
        .log=${view.log}
        @zt-readout=${(event: CustomEvent<string>) => {
          this.binText = event.detail;
        }}
      ></zt-histogram>`;
  }
}

customElements.define("zt-histogram-view", HistogramView);
