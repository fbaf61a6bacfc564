/** Painting in the heat map: what a drag puts into the cells below it. */
import { html, nothing, type TemplateResult } from "lit";
import { iconToggle } from "../shared/controls";

/** Off, a drag zooms. It is not kept over reloads, so that nobody paints by surprise. */
export interface Brush {
  readonly isOn: boolean;
  readonly value: string;
  /** Whether the program is changing what was painted. */
  readonly isBusy: boolean;
  /** Why the last stroke was not made. */
  readonly problem: string;
}

export const NO_BRUSH: Brush = { isOn: false, value: "0", isBusy: false, problem: "" };

export function brushTools(brush: Brush, change: (part: Partial<Brush>) => void): TemplateResult {
  const toggle = iconToggle("paintcan", "Paint: drag over cells to set them", brush.isOn, (isOn) => {
    change({ isOn, problem: "" });
  });
  if (!brush.isOn) return toggle;
  return html`${toggle}<label class="brush"
      ><span class="faint">sets to</span>
      <input
        type="text"
        spellcheck="false"
        autocomplete="off"
        aria-label="Value to paint"
        title="A number, or an expression of the stopped frame."
        .value=${brush.value}
        @input=${(event: Event) => {
          change({ value: (event.target as HTMLInputElement).value });
        }}
    /></label>`;
}

export function brushProblem(
  brush: Brush,
  change: (part: Partial<Brush>) => void,
): TemplateResult | typeof nothing {
  if (!brush.problem) return nothing;
  return html`<zt-notice
    tone="error"
    .text=${brush.problem}
    button="Dismiss"
    @zt-button=${() => {
      change({ problem: "" });
    }}
  ></zt-notice>`;
}
