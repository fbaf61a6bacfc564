/** How the table of values looks. */
import { css } from "lit";
import { base } from "../shared/styles";

export const valuesStyles = [
  base,
  css`
    :host {
      display: flex;
      flex-direction: column;
      gap: 8px;
    }
    .scroll {
      flex: 1;
      min-height: 0;
      overflow: auto hidden;
    }
    table {
      overflow: hidden;
      border: 1px solid var(--zt-line);
      border-radius: 5px;
      border-collapse: separate;
      border-spacing: 0;
      font-family: var(--vscode-editor-font-family, monospace);
      font-size: 12px;
      font-variant-numeric: tabular-nums;
      user-select: none;
    }
    th,
    td {
      height: 23px;
      padding: 0 10px;
      text-align: right;
      white-space: nowrap;
      font-weight: normal;
    }
    th {
      color: var(--vscode-descriptionForeground);
      background: var(--vscode-editorWidget-background, var(--vscode-editor-background));
    }
    thead th {
      border-bottom: 1px solid var(--zt-line);
    }
    tbody th {
      position: sticky;
      left: 0;
      border-right: 1px solid var(--zt-line);
      min-width: 52px;
    }
    td {
      min-width: 84px;
      cursor: cell;
    }
    tbody tr:hover td {
      background: var(--vscode-list-hoverBackground);
    }
    td.odd {
      font-weight: 600;
      color: var(--vscode-inputValidation-errorForeground, var(--vscode-errorForeground));
      background: var(--vscode-inputValidation-errorBackground);
      box-shadow: inset 2px 0 var(--vscode-charts-red, var(--vscode-errorForeground));
    }
    td.zero {
      color: var(--vscode-descriptionForeground);
    }
    td.selected,
    tbody tr:hover td.selected {
      color: var(--vscode-list-activeSelectionForeground);
      background: var(--vscode-list-activeSelectionBackground);
    }
    td:focus-visible {
      outline: 1px solid var(--vscode-focusBorder);
      outline-offset: -1px;
    }
    td.editing {
      padding: 0 1px;
    }
    .pager {
      display: inline-flex;
      align-items: center;
      gap: 1px;
    }
    .pager input {
      width: 5.6em;
      margin: 0 4px;
      padding: 2px 4px;
      font: inherit;
      color: var(--vscode-input-foreground);
      background: var(--vscode-input-background);
      border: 1px solid var(--vscode-input-border, transparent);
      border-radius: 4px;
    }
    .pager input:focus-visible {
      outline: 1px solid var(--vscode-focusBorder);
    }
  `,
];
