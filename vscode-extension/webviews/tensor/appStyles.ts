/** How the panel is laid out. */
import { css } from "lit";
import { base } from "../shared/styles";

export const appStyles = [
  base,
  css`
    :host {
      --zt-line: var(
        --vscode-contrastBorder,
        var(--vscode-editorWidget-border, var(--vscode-panel-border))
      );
      display: flex;
      flex-direction: column;
      gap: 12px;
      position: relative;
      max-width: 1200px;
      padding: 14px 18px 18px;
      background: var(--vscode-editor-background);
    }
    .progress {
      position: fixed;
      inset: 0 0 auto;
      height: 2px;
      z-index: 3;
    }
    .kept {
      display: contents;
    }
    .kept.dim zt-stats,
    .kept.dim zt-history-view,
    .kept.dim .panel {
      opacity: 0.6;
    }
    /* What is above the picture: the page should need no scrolling. */
    .long .panel {
      --zt-above: 560px;
    }
    [role="tablist"] {
      display: flex;
      gap: 20px;
      border-bottom: 1px solid var(--zt-line);
    }
    [role="tab"] {
      all: unset;
      padding: 6px 0 7px;
      margin-bottom: -1px;
      border-bottom: 2px solid transparent;
      color: var(--vscode-panelTitle-inactiveForeground, var(--vscode-descriptionForeground));
      cursor: pointer;
    }
    [role="tab"]:hover {
      color: var(--vscode-panelTitle-activeForeground, var(--vscode-foreground));
    }
    [role="tab"][aria-selected="true"] {
      color: var(--vscode-panelTitle-activeForeground, var(--vscode-foreground));
      border-bottom-color: var(--vscode-panelTitle-activeBorder, var(--vscode-focusBorder));
    }
    [role="tab"]:focus-visible {
      outline: 1px solid var(--vscode-focusBorder);
      outline-offset: 1px;
    }
    .panel {
      display: flex;
      flex-direction: column;
      gap: 10px;
    }
    .panel:focus-visible {
      outline: 1px solid var(--vscode-focusBorder);
      outline-offset: 4px;
    }
  `,
];
