/** The statistics as a strip of figures: short to read, exact on hover and on copy. */
import "@vscode-elements/elements/dist/vscode-icon/index.js";
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { count, exact, short } from "../../src/pure/tensorNumbers";
import type { Stats } from "../../src/wire/generated";
import { base } from "../shared/styles";

interface Figure {
  readonly name: string;
  readonly text: string;
  readonly exact: string;
  readonly bad: boolean;
}

export class StatsStrip extends LitElement {
  static override properties = { stats: { attribute: false }, pending: { type: Boolean } };
  static override styles = [
    base,
    css`
      :host {
        display: block;
        container-type: inline-size;
      }
      dl {
        display: flex;
        gap: 1px;
        margin: 0;
        overflow: hidden;
        background: var(--zt-line);
        border: 1px solid var(--zt-line);
        border-radius: 5px;
      }
      dl > div {
        flex: 1 1 auto;
        padding: 6px 8px 7px;
        min-width: 0;
        background: var(--vscode-editor-background);
        cursor: copy;
      }
      /* Ten figures: rows of five and of two are full. */
      @container (max-width: 720px) {
        dl {
          display: grid;
          grid-template-columns: repeat(5, 1fr);
        }
      }
      @container (max-width: 420px) {
        dl {
          grid-template-columns: repeat(2, 1fr);
        }
        dl > div {
          display: flex;
          justify-content: space-between;
          align-items: baseline;
          padding: 3px 8px;
        }
      }
      dl > div:hover {
        background: var(--vscode-list-hoverBackground, var(--vscode-editor-background));
      }
      dl > div:focus-visible {
        outline: 1px solid var(--vscode-focusBorder);
        outline-offset: -2px;
      }
      dt {
        color: var(--vscode-descriptionForeground);
        font-size: 11px;
        line-height: 1.35;
      }
      dd {
        margin: 0;
        font-variant-numeric: tabular-nums;
        font-family: var(--vscode-editor-font-family, monospace);
        font-size: 12px;
        white-space: nowrap;
        overflow: hidden;
        text-overflow: ellipsis;
      }
      dl > .bad {
        background: var(--vscode-inputValidation-errorBackground);
        box-shadow: inset 0 -2px var(--vscode-charts-red, var(--vscode-errorForeground));
      }
      .bad dt,
      .bad dd {
        color: var(--vscode-inputValidation-errorForeground, var(--vscode-foreground));
      }
      .bad vscode-icon {
        vertical-align: -2px;
        margin-right: 3px;
        color: var(--vscode-errorForeground);
      }
      .unknown {
        opacity: 0.55;
      }
    `,
  ];

  declare stats: Stats | undefined;
  declare pending: boolean;

  override render(): TemplateResult | typeof nothing {
    if (!this.stats) return nothing;
    return html`<dl aria-label="Statistics">${figures(this.stats).map((one) => this.cell(one))}</dl>`;
  }

  private cell(one: Figure): TemplateResult {
    const copy = (): void => {
      this.dispatchEvent(
        new CustomEvent("zt-copy", { detail: one.exact, bubbles: true, composed: true }),
      );
    };
    const onKey = (event: KeyboardEvent): void => {
      const isCopy = event.key === "c" && (event.ctrlKey || event.metaKey);
      if (event.key !== "Enter" && !isCopy) return;
      event.preventDefault();
      copy();
    };
    return html`<div
      class=${one.bad ? "bad" : ""}
      tabindex="0"
      title="${one.name} ${one.exact} – click to copy"
      data-name=${one.name}
      @click=${copy}
      @keydown=${onKey}
    >
      <dt>${one.name}</dt>
      <dd>
        ${one.bad ? html`<vscode-icon name="error" size="14"></vscode-icon>` : nothing}${one.text}
      </dd>
    </div>`;
  }
}

/** Those that are of magnitudes anyway. */
const LABELS: Readonly<Record<string, string>> = { absmax: "absmax", norm: "norm" };

/** What is worth a figure of its own for this type of numbers. */
export function figures(stats: Stats): Figure[] {
  const of = stats.dtype.startsWith("complex") ? " |x|" : "";
  const numbers = (["min", "max", "mean", "std", "absmax", "norm"] as const).map((name) =>
    figure(LABELS[name] ?? name + of, short(stats[name]), exact(stats[name])),
  );
  const counts = [
    counted("NaN", stats.nan, stats),
    counted("Inf", stats.inf, stats),
    { ...counted("zeros", stats.zeros, stats), bad: false },
  ];
  return [...numbers, ...counts, figure("size", count(stats.size), exact(stats.size))];
}

/** A count from a sample is a least count: there may be more where nobody looked. */
function counted(name: string, value: number | null, stats: Stats): Figure {
  const least = stats.sampled && value ? "≥ " : "";
  const bad = (value ?? 0) > 0;
  return { name, text: least + count(value), exact: exact(value), bad };
}

function figure(name: string, text: string, all: string): Figure {
  return { name, text, exact: all, bad: false };
}

customElements.define("zt-stats", StatsStrip);
