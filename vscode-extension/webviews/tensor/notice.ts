/** A sentence in place, with what can be done about it. */
import "@vscode-elements/elements/dist/vscode-button/index.js";
import "@vscode-elements/elements/dist/vscode-icon/index.js";
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { base } from "../shared/styles";

export type Tone = "error" | "info" | "empty";

const ICONS: Readonly<Record<Tone, string>> = { error: "error", info: "info", empty: "debug-pause" };

export class PlaceNotice extends LitElement {
  static override properties = {
    tone: {},
    heading: {},
    text: {},
    button: {},
    icon: {},
  };
  static override styles = [
    base,
    css`
      :host {
        display: block;
      }
      .box {
        display: flex;
        gap: 10px;
        align-items: center;
        padding: 7px 12px;
        border: 1px solid var(--zt-line);
        border-radius: 5px;
        background: var(--vscode-textBlockQuote-background, transparent);
      }
      .error .box,
      .box.error {
        border-color: var(--vscode-inputValidation-errorBorder, var(--vscode-errorForeground));
        background: var(--vscode-inputValidation-errorBackground);
        color: var(--vscode-inputValidation-errorForeground, var(--vscode-foreground));
      }
      .box.error vscode-icon {
        color: var(--vscode-errorForeground);
      }
      .text {
        flex: 1;
        min-width: 0;
        overflow-wrap: anywhere;
      }
      .box.empty {
        flex-direction: column;
        align-items: center;
        gap: 8px;
        padding: 56px 24px;
        text-align: center;
        border: 0;
        background: none;
      }
      .box.empty vscode-icon {
        color: var(--vscode-descriptionForeground);
      }
      .box.empty .text {
        max-width: 46ch;
        color: var(--vscode-descriptionForeground);
      }
      h2 {
        margin: 0 0 3px;
        font-size: 15px;
        font-weight: 600;
        color: var(--vscode-foreground);
      }
      vscode-icon {
        flex: none;
      }
      vscode-button {
        flex: none;
      }
      .box.empty vscode-button {
        margin-top: 6px;
      }
    `,
  ];

  declare tone: Tone;
  declare heading: string;
  declare text: string;
  /** Label of the button; none without. */
  declare button: string;
  declare icon: string;

  constructor() {
    super();
    this.tone = "info";
    this.heading = this.text = this.button = this.icon = "";
  }

  override render(): TemplateResult {
    const { tone, heading, button } = this;
    return html`<div class="box ${tone}" role=${tone === "error" ? "alert" : "note"}>
      <vscode-icon
        name=${this.icon || ICONS[tone]}
        size=${tone === "empty" ? 28 : 16}
      ></vscode-icon>
      <div class="text">${heading ? html`<h2>${heading}</h2>` : nothing}${this.text}</div>
      ${button
        ? html`<vscode-button ?secondary=${tone === "error"} @click=${this.onClick}
            >${button}</vscode-button
          >`
        : nothing}
    </div>`;
  }

  private onClick(): void {
    this.dispatchEvent(new CustomEvent("zt-button", { bubbles: true, composed: true }));
  }
}

customElements.define("zt-notice", PlaceNotice);
