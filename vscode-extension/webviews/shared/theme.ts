/** The editor's colours, for canvases, which do not inherit them. */

export interface Theme {
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly background: string;
  readonly accent: string;
  readonly error: string;
  readonly focus: string;
  readonly font: string;
}

/** Marks on pictures: the same in every theme, since they lie on colours of data. */
export const MARK_COLOURS = { nan: "#ff00e6", inf: "#ff9500", zero: "#8a8a8a" } as const;

export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const read = (name: string, otherwise: string): string =>
    style.getPropertyValue(name).trim() || otherwise;
  const text = read("--vscode-foreground", "#888888");
  return {
    text,
    faint: read("--vscode-descriptionForeground", text),
    line: read("--vscode-contrastBorder", "") || read("--vscode-editorWidget-border", text),
    background: read("--vscode-editor-background", "#00000000"),
    accent: read("--vscode-charts-blue", text),
    error: read("--vscode-charts-red", text),
    focus: read("--vscode-focusBorder", text),
    font: `11px ${read("--vscode-font-family", "sans-serif")}`,
  };
}

/** Calls back when the user chooses another theme; returns how to stop that. */
export function onThemeChange(callback: () => void): () => void {
  const observer = new MutationObserver(callback);
  observer.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
  return () => {
    observer.disconnect();
  };
}
