/** Where the new value of a cell is typed: Enter puts it there, Escape leaves it as it was. */
import { css, html, LitElement, type TemplateResult } from "lit";
import { base } from "../shared/styles";

export class CellInput extends LitElement {
  static override properties = { value: {}, label: {}, busy: { type: Boolean } };
  static override styles = [
    base,
    css`
      :host {
        display: block;
        font: inherit;
      }
      input {
        width: 100%;
        min-width: 84px;
        height: 21px;
        padding: 0 8px;
        font: inherit;
        text-align: right;
        color: var(--vscode-input-foreground);
        background: var(--vscode-input-background);
        border: 1px solid var(--vscode-focusBorder);
        border-radius: 2px;
        outline: 0;
      }
      input:read-only {
        color: var(--vscode-disabledForeground, var(--vscode-descriptionForeground));
      }
    `,
  ];

  /** What is there now. */
  declare value: string;
  declare label: string;
  /** Whether the program is changing it. */
  declare busy: boolean;

  constructor() {
    super();
    this.value = this.label = "";
    this.busy = false;
  }

  override render(): TemplateResult {
    return html`<input
      type="text"
      spellcheck="false"
      autocomplete="off"
      title="A number, or an expression of the stopped frame. Enter applies, Escape cancels."
      aria-label=${this.label}
      aria-busy=${this.busy}
      ?readonly=${this.busy}
      @keydown=${this.onKey}
      @pointerdown=${keep}
      @dblclick=${keep}
    />`;
  }

  /** Filled once: news of the program do not change what is being typed. */
  protected override firstUpdated(): void {
    const { field } = this;
    if (!field) return;
    field.value = this.value.trim();
    field.focus();
    field.select();
  }

  private get field(): HTMLInputElement | null {
    return this.renderRoot.querySelector("input");
  }

  private onKey(event: KeyboardEvent): void {
    event.stopPropagation(); // the keys are those of a text, not of the table
    if (event.isComposing) return;
    if (event.key === "Enter") this.tell("zt-enter", this.field?.value ?? "");
    else if (event.key === "Escape") this.tell("zt-escape", undefined);
    else return;
    event.preventDefault();
  }

  private tell(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** The mouse is for the text, not for the cells around it. */
function keep(event: Event): void {
  event.stopPropagation();
}

customElements.define("zt-cell-input", CellInput);
