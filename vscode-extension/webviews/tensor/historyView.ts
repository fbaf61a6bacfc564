/** How the expression has changed over stops and steps; folds away. */
import "@vscode-elements/elements/dist/vscode-badge/index.js";
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { hasHistory, type LineChoice } from "../../src/pure/tensorHistory";
import type { History } from "../../src/wire/generated";
import { type Choice, field, select } from "../shared/controls";
import { base } from "../shared/styles";
import type { Store } from "./store";
import "./historyPlot";

const CHOICES: readonly Choice<LineChoice>[] = [
  { value: "deviation", label: "mean ± std" },
  { value: "range", label: "mean, min … max" },
  { value: "norm", label: "norm" },
];

export class HistoryView extends LitElement {
  static override properties = {
    store: { attribute: false },
    revision: { attribute: false },
    text: { state: true },
  };
  static override styles = [
    base,
    css`
      :host {
        display: block;
      }
      summary {
        padding: 2px 0;
        cursor: pointer;
        font-weight: 600;
      }
      summary:focus-visible {
        outline: 1px solid var(--vscode-focusBorder);
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
      .readout {
        min-height: 20px;
        font-size: 12px;
        font-variant-numeric: tabular-nums;
      }
      zt-history-plot {
        height: 150px;
      }
    `,
  ];

  declare store: Store;
  declare revision: number;
  declare private text: string;

  constructor() {
    super();
    this.text = "";
  }

  override render(): TemplateResult | typeof nothing {
    const { store } = this;
    const history = store.lanes.history.shown?.history;
    if (!hasHistory(history)) return nothing;
    return html`<details
      ?open=${store.view.history}
      @toggle=${(event: Event) => {
        const { open } = event.target as HTMLDetailsElement;
        if (open !== store.view.history) store.update({ history: open });
      }}
    >
      <summary>History</summary>
      ${store.view.history ? this.chart(store, history) : nothing}
    </details>`;
  }

  private chart(store: Store, history: History): TemplateResult {
    return html`<div class="row tools">
        <div class="readout grow ${this.text ? "" : "faint"}" aria-live="polite">
          ${this.text || hint(history)}
        </div>
        ${history.sampled
          ? html`<vscode-badge title="Its numbers are of a sample of the elements.">sampled</vscode-badge>`
          : nothing}
        ${history.kind === "tensor"
          ? field(
              "Line",
              select("Line of the history", store.view.line, CHOICES, (line) => {
                store.update({ line });
              }),
            )
          : nothing}
      </div>
      <zt-history-plot
        .history=${history}
        .line=${store.view.line}
        @zt-readout=${(event: CustomEvent<string>) => {
          this.text = event.detail;
        }}
      ></zt-history-plot>`;
  }
}

/** What is special about this history, or what can be done with any. */
function hint(history: History): string {
  return history.note ?? "Point at the line for its numbers; dots are stops.";
}

customElements.define("zt-history-view", HistoryView);
