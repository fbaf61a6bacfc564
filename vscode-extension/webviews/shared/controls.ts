/** Small controls made of the editor's own elements. */
import "@vscode-elements/elements/dist/vscode-option/index.js";
import "@vscode-elements/elements/dist/vscode-single-select/index.js";
import "@vscode-elements/elements/dist/vscode-toolbar-button/index.js";
import { html, type TemplateResult } from "lit";

export interface Choice<T extends string> {
  readonly value: T;
  readonly label: string;
}

export function select<T extends string>(
  label: string,
  value: T,
  choices: readonly Choice<T>[],
  choose: (value: T) => void,
): TemplateResult {
  const onChange = (event: Event): void => {
    const chosen = (event.target as HTMLElement & { value: string }).value;
    const choice = choices.find((one) => one.value === chosen);
    if (choice && choice.value !== value) choose(choice.value);
  };
  return html`<vscode-single-select label=${label} .value=${value} @change=${onChange}>
    ${choices.map(
      (one) =>
        html`<vscode-option value=${one.value} ?selected=${one.value === value}
          >${one.label}</vscode-option
        >`,
    )}
  </vscode-single-select>`;
}

export function field(label: string, control: TemplateResult): TemplateResult {
  return html`<span class="field"><span aria-hidden="true">${label}</span>${control}</span>`;
}

export function iconButton(icon: string, label: string, click: () => void): TemplateResult {
  return html`<vscode-toolbar-button
    icon=${icon}
    label=${label}
    title=${label}
    @click=${click}
  ></vscode-toolbar-button>`;
}

export function iconToggle(
  icon: string,
  label: string,
  checked: boolean,
  toggle: (checked: boolean) => void,
): TemplateResult {
  return html`<vscode-toolbar-button
    icon=${icon}
    label=${label}
    title=${label}
    toggleable
    .checked=${checked}
    @change=${(event: Event) => {
      toggle((event.target as HTMLElement & { checked: boolean }).checked);
    }}
  ></vscode-toolbar-button>`;
}
