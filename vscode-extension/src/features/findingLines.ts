/** Where the lines of findings are now, in documents that are edited meanwhile. */
import * as vscode from "vscode";
import { type Change, type Tracked, follow, locate } from "../pure/findingsLines";
import type { Item } from "../pure/findingsLog";
import type { FindingsStore } from "./findingsStore";
import { linesOf } from "./places";

/** `text` is unknown until the document is open, if the program did not tell it. */
interface Entry {
  readonly uri: string;
  /** Undefined once the line was edited. */
  place: { readonly line: number; readonly text: string | null } | undefined;
}

export class FindingLines implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly entries = new Map<string, Entry>();
  private readonly parts: vscode.Disposable[];

  readonly onDidChange = this.changed.event;

  constructor(private readonly store: FindingsStore) {
    this.parts = [
      store.onDidChange(() => {
        this.take();
      }),
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (this.anchor(document)) this.changed.fire();
      }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (this.move(event)) this.changed.fire();
      }),
    ];
    this.take();
  }

  /** The finding's line, counted from 0; undefined if it was edited. */
  lineOf(key: string): number | undefined {
    return this.entries.get(key)?.place?.line;
  }

  dispose(): void {
    for (const part of [...this.parts, this.changed]) part.dispose();
  }

  private take(): void {
    const items = this.store.items();
    const keys = new Set(items.map((item) => item.key));
    for (const key of this.entries.keys()) if (!keys.has(key)) this.entries.delete(key);
    for (const item of items) if (!this.entries.has(item.key)) this.entries.set(item.key, entryOf(item));
    for (const document of vscode.workspace.textDocuments) this.anchor(document);
    this.changed.fire();
  }

  /** Finds lines in a document for the first time; it may differ from what the program read. */
  private anchor(document: vscode.TextDocument): boolean {
    return this.update(document, ({ line, text }) => {
      const found = locate(linesOf(document), line, text);
      return found === undefined ? undefined : { line: found, text: document.lineAt(found).text.trimEnd() };
    });
  }

  private move(event: vscode.TextDocumentChangeEvent): boolean {
    if (event.contentChanges.length === 0) return false;
    const edits = event.contentChanges.map(changeOf);
    return this.update(event.document, ({ line, text }) =>
      text === null ? undefined : follow({ line, text } satisfies Tracked, edits, linesOf(event.document)),
    );
  }

  private update(
    document: vscode.TextDocument,
    next: (place: NonNullable<Entry["place"]>) => Entry["place"],
  ): boolean {
    const uri = document.uri.toString();
    let isNew = false;
    for (const entry of this.entries.values()) {
      if (entry.uri !== uri || !entry.place) continue;
      const place = next(entry.place);
      isNew ||= place?.line !== entry.place.line;
      entry.place = place;
    }
    return isNew;
  }
}

function entryOf(item: Item): Entry {
  const { path, line, text } = item.finding.source;
  return { uri: vscode.Uri.file(path).toString(), place: { line: line - 1, text } };
}

function changeOf({ range, text }: vscode.TextDocumentContentChangeEvent): Change {
  return {
    startLine: range.start.line,
    startCharacter: range.start.character,
    endLine: range.end.line,
    endCharacter: range.end.character,
    text,
  };
}
