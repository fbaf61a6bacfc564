/** What is looked at: its name, its type, where it lives, and when the picture was taken. */
import "@vscode-elements/elements/dist/vscode-badge/index.js";
import "@vscode-elements/elements/dist/vscode-icon/index.js";
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { byteCount } from "../../src/pure/tensorNumbers";
import { caption, type Situation } from "../../src/pure/tensorSituation";
import type { TensorView } from "../../src/wire/generated";
import { iconButton, iconToggle } from "../shared/controls";
import { base } from "../shared/styles";

export class Header extends LitElement {
  static override properties = {
    view: { attribute: false },
    situation: { attribute: false },
    kept: {},
  };
  static override styles = [
    base,
    css`
      :host {
        display: block;
      }
      .title {
        display: flex;
        align-items: center;
        gap: 8px;
      }
      h1 {
        margin: 0;
        min-width: 0;
        font: 600 16px/1.5 var(--vscode-editor-font-family, monospace);
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      .facts {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 2px 14px;
        margin-top: 1px;
      }
      .type {
        font-family: var(--vscode-editor-font-family, monospace);
        color: var(--vscode-symbolIcon-classForeground, var(--vscode-foreground));
      }
      .tools {
        display: flex;
        gap: 2px;
        margin-left: auto;
      }
      .caption {
        display: flex;
        align-items: center;
        gap: 5px;
        min-height: 20px;
        margin-top: 3px;
        font-size: 12px;
        color: var(--vscode-descriptionForeground);
      }
      .stale {
        color: var(--vscode-editorWarning-foreground, var(--vscode-foreground));
      }
    `,
  ];

  declare view: TensorView | undefined;
  declare situation: Situation | undefined;
  /** Where the picture is from, if it is not of now. */
  declare kept: string;

  constructor() {
    super();
    this.kept = "";
  }

  override render(): TemplateResult | typeof nothing {
    const { situation } = this;
    if (!situation) return nothing;
    const isStale = this.kept !== "" || isOld(situation);
    return html`<div class="title">
        <h1 title=${situation.expression}>${situation.expression}</h1>
        ${iconButton("copy", "Copy the expression", () => {
          this.tell("zt-copy", situation.expression);
        })}
        <span class="tools" role="toolbar" aria-label="Panel">
          ${this.view && situation.readable
            ? html`${iconButton("edit", "Change its values…", () => {
                this.tell("zt-change", undefined);
              })}
              ${iconButton("debug-breakpoint-data", "Break when its values change", () => {
                this.tell("zt-break", undefined);
              })}`
            : nothing}
          ${iconButton("refresh", "Refresh", () => {
            this.tell("zt-refresh", undefined);
          })}
          ${iconToggle(
            situation.pinned ? "pinned" : "pin",
            situation.pinned
              ? "Pinned: later stops do not change this panel. Click to follow the program again"
              : "Pin: keep what is shown at later stops",
            situation.pinned,
            (pinned) => {
              this.tell("zt-pin", pinned);
            },
          )}
        </span>
      </div>
      ${this.view ? this.facts(this.view) : nothing}
      <div class="caption ${isStale ? "stale" : ""}" role="status">
        ${isStale ? html`<vscode-icon name="history" size="13"></vscode-icon>` : nothing}
        <span>${caption(situation, this.kept)}</span>
      </div>`;
  }

  private facts(view: TensorView): TemplateResult {
    const { dtype, shape, device, bytes, sampled } = view.stats;
    const type = `${dtype}[${shape.join(", ")}]`;
    return html`<div class="facts">
      <span class="type" title=${view.type_name}>${type}</span>
      <span title="Device">${device}</span>
      <span title="${bytes.toLocaleString("en")} bytes">${byteCount(bytes)}</span>
      ${relations(view.summary).map((text) => html`<span class="faint">${text}</span>`)}
      ${sampled
        ? html`<vscode-badge title="Too large to read all of it: the numbers are of a sample."
            >sampled</vscode-badge
          >`
        : nothing}
    </div>`;
  }

  private tell(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** What the summary line says beyond type and numbers: `leaf`, `grad …`, `view of …`. */
export function relations(summary: string): string[] {
  return summary
    .split(" · ")
    .slice(1)
    .filter((part) => /^(leaf$|grad |view of )/.test(part))
    .map((part) => (part === "leaf" ? "leaf, requires grad" : part));
}

/** Whether the picture is not of now. */
function isOld(situation: Situation): boolean {
  return situation.where !== "" && (situation.pinned || situation.state !== "stopped");
}

customElements.define("zt-header", Header);
