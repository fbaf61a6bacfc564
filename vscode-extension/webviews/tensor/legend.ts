/** What the signs on a picture mean, how many there are, and a switch for each. */
import { css, html, LitElement, type TemplateResult } from "lit";
import type { MarkCounts } from "../../src/pure/tensorData";
import { count } from "../../src/pure/tensorNumbers";
import { drawMark, type Mark, MARK_NAMES } from "../shared/marks";
import { base } from "../shared/styles";

export class Legend extends LitElement {
  static override properties = {
    counts: { attribute: false },
    shown: { attribute: false },
    blocks: { type: Boolean },
  };
  static override styles = [
    base,
    css`
      :host {
        display: inline-flex;
        flex-wrap: wrap;
        gap: 4px;
      }
      button {
        display: inline-flex;
        align-items: center;
        gap: 5px;
        padding: 1px 8px 1px 5px;
        min-height: 24px;
        font: inherit;
        color: var(--vscode-descriptionForeground);
        background: transparent;
        border: 1px solid transparent;
        border-radius: 5px;
        cursor: pointer;
      }
      button:hover {
        background: var(--vscode-toolbar-hoverBackground);
      }
      button:focus-visible {
        outline: 1px solid var(--vscode-focusBorder);
        outline-offset: 1px;
      }
      button[aria-pressed="true"] {
        color: var(--vscode-foreground);
        border-color: var(--zt-line);
      }
      button[aria-pressed="false"] canvas,
      .none canvas,
      .none .number {
        opacity: 0.5;
      }
      .some {
        font-weight: 600;
      }
      .number {
        font-variant-numeric: tabular-nums;
      }
      canvas {
        width: 14px;
        height: 14px;
      }
    `,
  ];

  declare counts: MarkCounts | undefined;
  declare shown: Readonly<Record<Mark, boolean>>;
  /** Whether a cell of the picture stands for several elements. */
  declare blocks: boolean;

  override render(): TemplateResult {
    return html`${(["nan", "inf", "zero"] as const).map((mark) => this.entry(mark))}`;
  }

  override updated(): void {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of this.renderRoot.querySelectorAll("canvas")) {
      canvas.width = canvas.height = Math.round(14 * ratio);
      const context = canvas.getContext("2d");
      context?.scale(ratio, ratio);
      const mark = canvas.dataset["mark"] as Mark;
      if (context) drawMark(context, mark, { x: 0, y: 0, width: 14, height: 14 });
    }
  }

  private entry(mark: Mark): TemplateResult {
    const found = this.found(mark);
    const isShown = this.shown[mark];
    const unit = this.blocks ? "cells of the picture" : "elements in view";
    const toggle = (): void => {
      const detail = { ...this.shown, [mark]: !isShown };
      this.dispatchEvent(new CustomEvent("zt-marks", { detail, bubbles: true, composed: true }));
    };
    return html`<button
      class=${found ? "" : "none"}
      aria-pressed=${isShown}
      title="${MARK_NAMES[mark]} in ${count(found)} ${unit}; click to ${isShown ? "hide" : "show"}"
      @click=${toggle}
    >
      <canvas data-mark=${mark} aria-hidden="true"></canvas>${MARK_NAMES[mark]}
      <span class="number ${found && mark !== "zero" ? "some" : ""}">${count(found)}</span>
    </button>`;
  }

  private found(mark: Mark): number {
    const { counts } = this;
    if (!counts) return 0;
    if (mark === "nan") return counts.nan;
    return mark === "inf" ? counts.plusInf + counts.minusInf : counts.zero;
  }
}

customElements.define("zt-legend", Legend);
