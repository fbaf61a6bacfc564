/** Follows a line through edits of its document. Lines count from 0 here, as the editor's do. */

/** One replacement, in the terms of the editor's change events. */
export interface Change {
  readonly startLine: number;
  readonly startCharacter: number;
  readonly endLine: number;
  readonly endCharacter: number;
  readonly text: string;
}

export interface Tracked {
  readonly line: number;
  /** Its text when it was found, without space at the end. */
  readonly text: string;
}

/** A document, as far as it is needed here. */
export interface Lines {
  readonly lineCount: number;
  textAt(line: number): string;
}

/**
 * Where the line is after `changes`, in the order in which the editor reports them; undefined once
 * it was edited. A formatter that writes the same text again does not count as an edit.
 */
export function follow(tracked: Tracked, changes: readonly Change[], after: Lines): Tracked | undefined {
  let line = tracked.line;
  for (const change of changes) {
    line = shifted(line, tracked.text.length, change) ?? line;
  }
  return reads(after, line, tracked.text) ? { ...tracked, line } : undefined;
}

/**
 * The line with a text: the one given if it reads so, else the only one in the document that does.
 *
 * A file may have been edited since the program read it, without anybody telling.
 */
export function locate(document: Lines, line: number, text: string | null): number | undefined {
  if (text === null) return line < document.lineCount ? line : undefined;
  const wanted = text.trimEnd();
  if (reads(document, line, wanted)) return line;
  let found: number | undefined;
  for (let index = 0; index < document.lineCount; index++) {
    if (document.textAt(index).trimEnd() !== wanted) continue;
    if (found !== undefined) return undefined;
    found = index;
  }
  return found;
}

/** The line's new number if `change` left it whole; undefined if it reached into the line. */
export function shifted(line: number, length: number, change: Change): number | undefined {
  const added = change.text.split("\n");
  const delta = added.length - 1 - (change.endLine - change.startLine);
  const isAfter = change.startLine > line || (change.startLine === line && change.startCharacter >= length);
  if (isAfter) return change.startLine === line && added[0]?.trim() !== "" ? undefined : line;
  const isBefore = change.endLine < line || (change.endLine === line && change.endCharacter === 0);
  if (!isBefore) return undefined;
  const prefix = added.length > 1 ? added.at(-1) : change.startCharacter === 0 ? added[0] : "x";
  return change.endLine < line || prefix === "" ? line + delta : undefined;
}

function reads(document: Lines, line: number, text: string): boolean {
  return line >= 0 && line < document.lineCount && document.textAt(line).trimEnd() === text;
}
