/** One control a dimension: it runs down, it runs across, or it stands at one index. */
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import {
  isZoomed,
  type Role,
  roleOf,
  setIndex,
  setRole,
  type Slice,
  swapAxes,
} from "../../src/pure/tensorSlice";
import { type Choice, iconButton, select } from "../shared/controls";
import { base } from "../shared/styles";

const ROLES: readonly Choice<Role>[] = [
  { value: "index", label: "index" },
  { value: "rows", label: "rows ↓" },
  { value: "columns", label: "columns →" },
];
const CHANNELS: Choice<Role> = { value: "channels", label: "colour" };

export class SlicePicker extends LitElement {
  static override properties = { slice_: { attribute: false } };
  static override styles = [
    base,
    css`
      :host {
        display: flex;
        flex-wrap: wrap;
        gap: 6px;
        align-items: stretch;
      }
      .dim {
        display: inline-flex;
        align-items: center;
        gap: 5px;
        padding: 1px 2px 1px 8px;
        min-height: 30px;
        border: 1px solid var(--zt-line);
        border-radius: 5px;
      }
      .dim > * {
        white-space: nowrap;
      }
      vscode-single-select {
        min-width: 0;
        width: 104px;
      }
      .dim[data-role="index"] vscode-single-select {
        width: 74px;
      }
      .range {
        padding-right: 6px;
        font-variant-numeric: tabular-nums;
        white-space: nowrap;
      }
      input[type="range"] {
        width: 44px;
        accent-color: var(--vscode-charts-blue, var(--vscode-focusBorder));
      }
      input[type="number"] {
        width: 44px;
        padding: 2px 4px;
        font: inherit;
        font-variant-numeric: tabular-nums;
        color: var(--vscode-input-foreground);
        background: var(--vscode-input-background);
        border: 1px solid var(--vscode-input-border, transparent);
        border-radius: 4px;
      }
      input:focus-visible {
        outline: 1px solid var(--vscode-focusBorder);
        outline-offset: 0;
      }
      .buttons {
        display: inline-flex;
        align-items: center;
        gap: 2px;
      }
    `,
  ];

  /** `slice` is taken: elements have it for slots. */
  declare slice_: Slice | undefined;
  private waiting: Slice | undefined;
  private frame = 0;

  override render(): TemplateResult | typeof nothing {
    const slice = this.slice_;
    if (!slice) return nothing;
    const canSwap = slice.rows !== null && slice.channels === null;
    return html`${slice.shape.map((size, dim) => this.dimension(slice, size, dim))}
      <span class="buttons">
        ${canSwap
          ? iconButton("arrow-swap", "Swap rows and columns", () => {
              this.choose(swapAxes(slice));
            })
          : nothing}
        ${isZoomed(slice)
          ? iconButton("screen-full", "Reset zoom", () => {
              this.tell("zt-zoom", undefined);
            })
          : nothing}
      </span>`;
  }

  private dimension(slice: Slice, size: number, dim: number): TemplateResult {
    const role = roleOf(slice, dim);
    // Of two dimensions there is nothing to choose but which is which, and that is a button.
    const isFixed = slice.channels !== null || slice.shape.length === 2;
    const roles = role === "channels" ? [CHANNELS] : ROLES;
    const label = roles.find((one) => one.value === role)?.label ?? role;
    return html`<div class="dim" role="group" aria-label="Dimension ${dim}" data-dim=${dim} data-role=${role}>
      <span class="faint" title="Dimension ${dim} has ${size} entries">dim ${dim}</span>
      ${slice.shape.length < 2
        ? nothing
        : isFixed
          ? html`<span>${label}</span>`
          : select(`Dimension ${dim}`, role, roles, (chosen) => {
              this.choose(setRole(slice, dim, chosen));
            })}
      ${this.entry(slice, size, dim)}
    </div>`;
  }

  private entry(slice: Slice, size: number, dim: number): TemplateResult {
    const part = slice.dims[dim];
    if (part?.kind !== "at") {
      const { start, stop } = part ?? { start: 0, stop: size };
      return html`<span class="range">${start}–${stop - 1}</span>`;
    }
    const last = size - 1;
    const move = (event: Event): void => {
      const { value } = event.target as HTMLInputElement;
      if (value !== "") this.drag(setIndex(this.waiting ?? slice, dim, Number(value)));
    };
    return html`<input
        type="range"
        min="0"
        max=${last}
        .value=${String(part.index)}
        ?disabled=${last === 0}
        aria-label="Index of dimension ${dim}"
        @input=${move}
      /><input
        type="number"
        min="0"
        max=${last}
        .value=${String(part.index)}
        ?disabled=${last === 0}
        aria-label="Index of dimension ${dim}, 0 to ${last}"
        title="0 to ${last}"
        @change=${move}
      />`;
  }

  /** A drag makes more moves than frames: each frame has one. */
  private drag(slice: Slice): void {
    this.waiting = slice;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const { waiting } = this;
      this.waiting = undefined;
      if (waiting) this.choose(waiting);
    });
  }

  private choose(slice: Slice): void {
    this.tell("zt-slice", slice);
  }

  private tell(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

customElements.define("zt-slice-picker", SlicePicker);
