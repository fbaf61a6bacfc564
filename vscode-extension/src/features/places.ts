/** Goes to a line that a program named, also when the file was edited since. */
import * as vscode from "vscode";
import { type Lines, locate } from "../pure/findingsLines";
import { fileOf } from "../pure/findingsPlaces";
import type { Location } from "../wire/generated";

type Place = Pick<Location, "path" | "line" | "text" | "column" | "end_column">;

/**
 * Shows a place.
 *
 * @param line where it is now, counted from 0, if that is known better.
 */
export async function openPlace(place: Place, line?: number): Promise<void> {
  const document = await documentAt(place.path);
  if (!document) {
    void vscode.window.showWarningMessage(
      `${fileOf(place.path)} is not on this machine, or not a file: ${place.path}`,
    );
    return;
  }
  const last = document.lineCount - 1;
  const found = line ?? locate(linesOf(document), place.line - 1, place.text) ?? place.line - 1;
  await vscode.window.showTextDocument(document, {
    selection: caret(document, Math.min(found, last), place),
    preserveFocus: false,
  });
}

/** The document of a path; undefined if there is none. */
export async function documentAt(path: string): Promise<vscode.TextDocument | undefined> {
  try {
    return await vscode.workspace.openTextDocument(vscode.Uri.file(path));
  } catch {
    // Paths such as <string>, or of another machine, are ordinary here; the caller says so.
    return undefined;
  }
}

export function linesOf(document: vscode.TextDocument): Lines {
  return { lineCount: document.lineCount, textAt: (line) => document.lineAt(line).text };
}

/** The columns of a place if they fit the line, else its text without the indentation. */
export function rangeOn(
  line: number,
  text: string,
  place: Pick<Location, "column" | "end_column">,
): vscode.Range {
  const start = text.length - text.trimStart().length;
  const end = text.trimEnd().length;
  const from = place.column === null ? start : place.column - 1;
  const to = place.end_column === null ? end : place.end_column - 1;
  return from < to && to <= end
    ? new vscode.Range(line, from, line, to)
    : new vscode.Range(line, Math.min(start, end), line, end);
}

function caret(document: vscode.TextDocument, line: number, place: Place): vscode.Range {
  const { start } = rangeOn(line, document.lineAt(line).text, place);
  return new vscode.Range(start, start);
}
