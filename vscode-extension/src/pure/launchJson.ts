/** Puts a configuration into the text of launch.json; what the user wrote there stays as it is. */
import type { Configuration } from "./configuration";

export interface Insertion {
  readonly offset: number;
  readonly text: string;
}

const TOKEN = /"(?:\\.|[^"\\\n])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[{}[\]]/g;
const EMPTY = /^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*\]/;

/** Where and what to insert; nothing if the text has no list of configurations. */
export function insertionOf(text: string, configuration: Configuration): Insertion | undefined {
  const offset = startOfList(text);
  if (offset === undefined) return undefined;
  const unit = /^([ \t]+)"/m.exec(text)?.[1] ?? "    ";
  const lines = JSON.stringify(configuration, null, unit).split("\n");
  const item = lines.map((line) => `\n${unit}${unit}${line}`).join("");
  return { offset, text: EMPTY.test(text.slice(offset)) ? `${item}\n${unit}` : `${item},` };
}

/** The place behind the bracket; compounds have lists of that name, too, but further in. */
function startOfList(text: string): number | undefined {
  let depth = 0;
  let isKey = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.startsWith("/")) continue;
    if (isKey && token === "[") return index + 1;
    isKey = depth === 1 && token === '"configurations"';
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
  }
  return undefined;
}
