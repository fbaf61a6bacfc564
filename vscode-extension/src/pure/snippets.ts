/** Configurations made of the snippets that launch.json's completion offers. */
import { isRecord } from "./guards";
import type { Configuration } from "./configuration";

export interface Snippet {
  readonly label: string;
  readonly description: string;
  readonly body: Configuration;
}

/** Reads the snippets of our own package.json. */
export function snippetsOf(packageJson: unknown): Snippet[] {
  const debuggers = list(member(member(packageJson, "contributes"), "debuggers"));
  return debuggers.flatMap((found) => list(member(found, "configurationSnippets"))).flatMap(snippet);
}

function snippet(value: unknown): Snippet[] {
  if (!isRecord(value) || !isRecord(value["body"])) return [];
  const body = plain(value["body"]);
  if (!isRecord(body)) return [];
  return [{ label: String(value["label"]), description: String(value["description"]), body }];
}

/** A snippet's body without its marks: placeholders get what they suggest. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
  }
  return typeof value === "string" ? plainText(value) : value;
}

function plainText(text: string): unknown {
  const raw = text.startsWith("^") ? text.slice(1) : undefined;
  const filled = (raw ?? text)
    .replace(/(?<!\\)\$\{\d+:((?:[^}\\]|\\.)*)\}/g, "$1")
    .replace(/\\\$/g, "$$");
  return raw === undefined ? filled : (JSON.parse(filled) as unknown);
}

function member(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
