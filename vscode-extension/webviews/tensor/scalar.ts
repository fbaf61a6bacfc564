/** One number, large. */
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import type { TensorView } from "../../src/wire/generated";
import { base } from "../shared/styles";
import { kindOf } from "./valuesText";

export class Scalar extends LitElement {
  static override properties = { view: { attribute: false } };
  static override styles = [
    base,
    css`
      :host {
        display: block;
        padding: 28px 0;
        text-align: center;
      }
      output {
        font: 300 34px/1.3 var(--vscode-editor-font-family, monospace);
        font-variant-numeric: tabular-nums;
        overflow-wrap: anywhere;
      }
      .odd {
        font-weight: 600;
        color: var(--vscode-errorForeground);
      }
    `,
  ];

  declare view: TensorView | undefined;

  override render(): TemplateResult | typeof nothing {
    const text = this.view?.page?.cells[0]?.[0];
    if (text === undefined) return nothing;
    return html`<output class=${kindOf(text)} aria-label="Value">${text}</output>`;
  }
}

customElements.define("zt-scalar", Scalar);
