/** Findings in the Problems view and under their lines. */
import * as vscode from "vscode";
import { locate } from "../pure/findingsLines";
import type { Item } from "../pure/findingsLog";
import { isFilePath, problemText } from "../pure/findingsProblems";
import type { Location } from "../wire/generated";
import { FindingLines } from "./findingLines";
import type { FindingsStore } from "./findingsStore";
import { linesOf, rangeOn } from "./places";

export const SOURCE = "ZenTracer";

const known = new WeakMap<FindingsStore, FindingLines>();

/** The one follower of a store's lines. */
export function linesOfFindings(context: vscode.ExtensionContext, store: FindingsStore): FindingLines {
  const lines = known.get(store) ?? new FindingLines(store);
  if (!known.has(store)) {
    known.set(store, lines);
    context.subscriptions.push(lines);
  }
  return lines;
}

export class Diagnostics implements vscode.Disposable {
  private readonly collection = vscode.languages.createDiagnosticCollection("zentracer");
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly store: FindingsStore,
    private readonly lines: FindingLines,
  ) {
    this.listening = lines.onDidChange(() => {
      this.publish();
    });
    this.publish();
  }

  dispose(): void {
    this.listening.dispose();
    this.collection.dispose();
  }

  private publish(): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const item of this.store.items()) {
      const line = this.lines.lineOf(item.key);
      const { path } = item.finding.source;
      if (line === undefined || !isFilePath(path)) continue;
      byFile.set(path, [...(byFile.get(path) ?? []), diagnosticOf(item, line)]);
    }
    this.collection.clear();
    this.collection.set([...byFile].map(([path, list]) => [vscode.Uri.file(path), list]));
  }
}

function diagnosticOf(item: Item, line: number): vscode.Diagnostic {
  const { source, severity, rule, details } = item.finding;
  // The text that the program ran; without it the editor underlines the whole line.
  const range = source.text === null ? new vscode.Range(line, 0, line, 1000) : rangeOn(line, source.text, source);
  const diagnostic = new vscode.Diagnostic(range, problemText(item.finding), severityOf(severity));
  diagnostic.source = SOURCE;
  diagnostic.code = rule;
  const related = (details?.facts ?? []).flatMap(({ text, location }) =>
    location === null ? [] : [relatedTo(location, text)],
  );
  const stands = details?.source;
  if (stands && (stands.path !== source.path || stands.line !== source.line)) {
    related.unshift(relatedTo(stands, "the program stands here"));
  }
  if (related.length > 0) diagnostic.relatedInformation = related;
  return diagnostic;
}

function relatedTo(place: Location, what: string): vscode.DiagnosticRelatedInformation {
  const uri = vscode.Uri.file(place.path);
  return new vscode.DiagnosticRelatedInformation(
    new vscode.Location(uri, new vscode.Position(lineNow(uri, place), 0)),
    `${what}: ${place.text?.trim() ?? ""}`,
  );
}

/** An open document may have been edited since the program read it. */
function lineNow(uri: vscode.Uri, { line, text }: Location): number {
  const open = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  return (open && locate(linesOf(open), line - 1, text)) ?? line - 1;
}

function severityOf(severity: string): vscode.DiagnosticSeverity {
  switch (severity) {
    case "error":
      return vscode.DiagnosticSeverity.Error;
    case "warning":
      return vscode.DiagnosticSeverity.Warning;
    default:
      return vscode.DiagnosticSeverity.Information;
  }
}
