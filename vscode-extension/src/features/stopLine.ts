/**
 * Behind the line where the program stands: the sentence of a stop that has no widget of its own.
 *
 * VS Code opens a widget for exceptions only; at a breakpoint by name or on data it would show no
 * more than a badge in the Call Stack.
 */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { type ToldPlace, behindLine, isToldByLine, topFrameOf } from "../pure/stopLine";
import { plain } from "../pure/treeMarkdown";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  context.subscriptions.push(new StopLine(sessions));
}

class StopLine implements vscode.Disposable {
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    after: {
      margin: "0 0 0 2.5em",
      color: new vscode.ThemeColor("editor.foreground"),
      fontStyle: "italic",
    },
  });
  /** By session; a place is undefined while it is asked for. */
  private readonly places = new Map<string, { told: object; place: ToldPlace | undefined }>();
  private readonly parts: vscode.Disposable[];

  constructor(private readonly sessions: Sessions) {
    this.parts = [
      this.decoration,
      sessions.onDidChange(() => {
        this.follow();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.draw();
      }),
    ];
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  private follow(): void {
    const live = this.sessions.all();
    const ids = new Set(live.map((session) => session.debug.id));
    for (const id of this.places.keys()) if (!ids.has(id)) this.places.delete(id);
    for (const session of live) this.followOne(session);
    this.draw();
  }

  private followOne(session: ZenSession): void {
    const { told } = session;
    const { id } = session.debug;
    if (!told || !isToldByLine(told)) this.places.delete(id);
    else if (this.places.get(id)?.told !== told) void this.locate(session, told);
  }

  private async locate(session: ZenSession, told: NonNullable<ZenSession["told"]>): Promise<void> {
    const { id } = session.debug;
    this.places.set(id, { told, place: undefined });
    const asked = { threadId: told.threadId, startFrame: 0, levels: 1 };
    const place = await session.debug.customRequest("stackTrace", asked).then(
      (body: unknown) => topFrameOf(body, told.text),
      () => undefined, // the program went on meanwhile
    );
    if (this.places.get(id)?.told !== told) return;
    this.places.set(id, { told, place });
    this.draw();
  }

  private draw(): void {
    const places = [...this.places.values()].flatMap(({ place }) => (place ? [place] : []));
    for (const editor of vscode.window.visibleTextEditors) {
      const { uri, lineCount } = editor.document;
      const here = places.filter((one) => uri.scheme === "file" && one.path === uri.fsPath);
      const shown = here.filter((one) => one.line < lineCount);
      editor.setDecorations(this.decoration, shown.map((one) => optionsOf(editor.document, one)));
    }
  }
}

function optionsOf(document: vscode.TextDocument, place: ToldPlace): vscode.DecorationOptions {
  const { range } = document.lineAt(place.line);
  return {
    range: new vscode.Range(range.end, range.end),
    hoverMessage: new vscode.MarkdownString(plain(place.text)),
    renderOptions: { after: { contentText: behindLine(place.text) } },
  };
}
