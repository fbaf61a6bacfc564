/** What all components share. */
import { css } from "lit";

export const base = css`
  :host {
    box-sizing: border-box;
    color: var(--vscode-foreground);
    font-family: var(--vscode-font-family);
    font-size: var(--vscode-font-size, 13px);
    line-height: 1.4;
  }
  :host([hidden]) {
    display: none;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  .mono {
    font-family: var(--vscode-editor-font-family, monospace);
    font-size: 0.96em;
  }
  .faint {
    color: var(--vscode-descriptionForeground);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 6px 12px;
  }
  .grow {
    flex: 1;
  }
  .sr {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  label.field {
    display: inline-flex;
    align-items: center;
    gap: 6px;
    color: var(--vscode-descriptionForeground);
  }
  vscode-single-select {
    width: auto;
    min-width: 96px;
  }
  button.plain {
    all: unset;
    cursor: pointer;
  }
  button.plain:focus-visible {
    outline: 1px solid var(--vscode-focusBorder);
    outline-offset: 1px;
  }
`;
