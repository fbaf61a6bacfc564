/** The Tensor panels: one for each expression, kept over reloads of the window. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { isRecord } from "../pure/guards";
import { TensorFrames } from "./tensorFrames";
import { TensorPanelView } from "./tensorPanelView";

const PANEL_TYPE = "zentracer.tensor";

/** Shows an expression; for features of this extension, not for the palette. */
export const SHOW_TENSOR = "zentracer.showTensor";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const panels = new TensorPanels(context.extensionUri, sessions);
  context.subscriptions.push(
    panels,
    vscode.commands.registerCommand(SHOW_TENSOR, (expression: string) => {
      panels.show(expression);
    }),
    vscode.window.registerWebviewPanelSerializer(PANEL_TYPE, panels),
  );
}

class TensorPanels implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly open = new Set<TensorPanelView>();
  private readonly frames: TensorFrames;
  private readonly parts: { dispose(): unknown }[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly sessions: Sessions,
  ) {
    this.frames = new TensorFrames(sessions);
    this.parts = [
      this.frames,
      this.frames.onDidChange(() => {
        for (const view of this.open) view.update();
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (!change.affectsConfiguration("zentracer.tensor")) return;
        for (const view of this.open) view.updateSettings();
      }),
    ];
  }

  /** A pinned panel stays as it is, so that it can be compared with a new one. */
  show(expression: string): void {
    const known = [...this.open].find((view) => view.expression === expression && !view.isPinned);
    if (known) {
      known.panel.reveal();
      known.update();
      return;
    }
    const panel = vscode.window.createWebviewPanel(PANEL_TYPE, expression, this.column(), {
      enableScripts: true,
      retainContextWhenHidden: true, // what was read may be gone from the program
    });
    this.add(panel, expression);
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const expression = isRecord(state) ? state["expression"] : undefined;
    if (typeof expression === "string" && expression) this.add(panel, expression);
    else panel.dispose(); // nothing was kept that could be shown
    return Promise.resolve();
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  private add(panel: vscode.WebviewPanel, expression: string): void {
    const view = new TensorPanelView(panel, expression, this.extension, this.sessions, this.frames);
    this.open.add(view);
    panel.onDidDispose(() => {
      this.open.delete(view);
    });
  }

  /** Where the other tensors are; the first goes beside the source. */
  private column(): vscode.ViewColumn {
    const [other] = [...this.open].filter((view) => view.panel.visible);
    return other?.panel.viewColumn ?? vscode.ViewColumn.Beside;
  }
}
