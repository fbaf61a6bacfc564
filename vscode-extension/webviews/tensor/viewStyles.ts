/** How the tabs are laid out. */
import { css } from "lit";
import { base } from "../shared/styles";

export const viewStyles = [
  base,
  css`
    :host {
      display: flex;
      flex-direction: column;
      gap: 10px;
    }
    .field {
      display: inline-flex;
      align-items: center;
      gap: 6px;
      color: var(--vscode-descriptionForeground);
    }
    .brush {
      display: inline-flex;
      align-items: center;
      gap: 6px;
    }
    .brush input {
      width: 7em;
      padding: 2px 6px;
      font-family: var(--vscode-editor-font-family, monospace);
      font-size: 12px;
      color: var(--vscode-input-foreground);
      background: var(--vscode-input-background);
      border: 1px solid var(--vscode-input-border, transparent);
      border-radius: 4px;
    }
    .brush input:focus-visible {
      outline: 1px solid var(--vscode-focusBorder);
    }
    .tools {
      min-height: 28px;
    }
    zt-picture,
    zt-histogram,
    zt-line {
      height: clamp(320px, calc(100vh - var(--zt-above, 350px)), 620px);
    }
    zt-line,
    zt-histogram {
      max-height: 380px;
    }
    zt-values {
      height: clamp(240px, calc(100vh - var(--zt-above, 320px)), 720px);
    }
    .readout {
      display: flex;
      gap: 12px;
      min-height: 20px;
      font-size: 12px;
      font-variant-numeric: tabular-nums;
    }
    .readout span {
      font-family: var(--vscode-editor-font-family, monospace);
    }
  `,
];
