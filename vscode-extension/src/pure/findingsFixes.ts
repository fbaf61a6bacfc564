/** Whether the edit of a suggestion still fits the document. */
import type { Suggestion, TextEdit } from "../wire/generated";
import { type Lines, locate } from "./findingsLines";
import { fileOf, placeOf } from "./findingsPlaces";

/** An edit that can be made, or the reason why not. */
export type Fix =
  | { readonly kind: "fits"; readonly line: number; readonly newText: string }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * @param line where the line is now, counted from 0, if it was followed through edits.
 * @param document as it is now; undefined if there is no such file.
 */
export function fixOf(edit: TextEdit, document: Lines | undefined, line: number | undefined): Fix {
  if (document === undefined) return refused(`${fileOf(edit.path)} is not on this machine.`);
  const found = locate(document, line ?? edit.line - 1, edit.old_text);
  if (found !== undefined) return { kind: "fits", line: found, newText: edit.new_text };
  const text = edit.old_text.trim();
  const isThere = [...range(document)].some((other) => document.textAt(other).trim() === text);
  return refused(
    isThere
      ? `${placeOf(edit)} has moved, and several lines read “${text}”.`
      : `${placeOf(edit)} was edited since; it no longer reads “${text}”.`,
  );
}

/** The edits among suggestions, with their places in the list. */
export function editsOf(
  suggestions: readonly Suggestion[],
): readonly { index: number; title: string; why: string; edit: TextEdit }[] {
  return suggestions.flatMap(({ title, why, edit }, index) => (edit ? [{ index, title, why, edit }] : []));
}

/** The id of a suggestion's row. */
export function suggestionId(key: string, index: number): string {
  return `${key}:suggestion:${String(index)}`;
}

/** The finding and the suggestion that a row stands for; a finding's own row has no suggestion. */
export function readSuggestionId(id: string): { key: string; index: number | undefined } {
  const found = /^(.*):suggestion:(\d+)$/s.exec(id);
  return { key: found?.[1] ?? id, index: found ? Number(found[2]) : undefined };
}

function refused(reason: string): Fix {
  return { kind: "refused", reason };
}

function* range(document: Lines): Generator<number> {
  for (let line = 0; line < document.lineCount; line++) yield line;
}
