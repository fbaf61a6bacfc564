/** Moves along one side of the table of values, a page at a time or to a number. */
import { html, nothing, type TemplateResult } from "lit";
import type { Range } from "../../src/pure/tensorSlice";
import { iconButton } from "../shared/controls";

export function pager(
  name: string,
  first: number,
  length: number,
  range: Range | undefined,
  go: (to: number) => void,
): TemplateResult | typeof nothing {
  const start = range?.start ?? 0;
  const all = (range?.stop ?? 0) - start;
  if (all <= length) return nothing;
  const last = Math.max(0, all - length);
  const word = name.toLowerCase();
  const button = (icon: string, label: string, to: number): TemplateResult =>
    iconButton(icon, label, () => {
      go(Math.max(0, Math.min(to, last)));
    });
  return html`<span class="pager" role="group" aria-label="${name}s">
    ${button("debug-reverse-continue", `First ${word}s`, 0)}
    ${button("chevron-left", `Previous ${word}s`, first - length)}
    <span class="faint">${name}</span>
    <input
      type="number"
      min=${start}
      max=${start + all - 1}
      .value=${String(start + first)}
      aria-label="Go to ${word}"
      @change=${(event: Event) => {
        const wanted = Math.trunc(Number((event.target as HTMLInputElement).value));
        if (Number.isFinite(wanted)) go(Math.max(0, Math.min(wanted - start, last)));
      }}
    />
    <span class="faint">– ${start + first + length - 1} of ${start + all}</span>
    ${button("chevron-right", `Next ${word}s`, first + length)}
    ${button("debug-continue", `Last ${word}s`, last)}
  </span>`;
}
