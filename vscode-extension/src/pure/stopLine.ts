/** What is said behind the line of a stop. */
import { isRecord } from "./guards";
import type { ToldStop } from "./runState";

/** Stops that the editor says nothing of beyond a badge. */
const REASONS: ReadonlySet<string> = new Set(["function breakpoint", "data breakpoint", "step"]);

export function isToldByLine({ reason }: ToldStop): boolean {
  return REASONS.has(reason);
}

export interface ToldPlace {
  readonly path: string;
  /** Counted from 0. */
  readonly line: number;
  readonly text: string;
}

/** Where the first frame of an answer to `stackTrace` stands; undefined where there is no file. */
export function topFrameOf(body: unknown, text: string): ToldPlace | undefined {
  const frames: unknown = isRecord(body) ? body["stackFrames"] : undefined;
  const frame: unknown = Array.isArray(frames) ? frames[0] : undefined;
  if (!isRecord(frame) || !isRecord(frame["source"])) return undefined;
  const { path } = frame["source"];
  const { line } = frame;
  if (typeof path !== "string" || typeof line !== "number" || line < 1) return undefined;
  return { path: localPath(path), line: line - 1, text };
}

/** In a remote window the editor makes an address of a path in the answers it hands to extensions. */
function localPath(path: string): string {
  const address = /^vscode-remote:\/\/[^/]*(\/.*)$/.exec(path)?.[1];
  return address === undefined ? path : decodeURIComponent(address);
}

/** Characters behind a line: beyond, a reader would have to scroll. */
const LONGEST = 180;

/** The sentence in one line; the editor shows the rest of a long one on hover. */
export function behindLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).trimEnd()}…` : line;
}
