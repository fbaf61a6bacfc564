/** Lines of test programs, named by a comment `# @marker`, never by their number. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { programs } from "./places.ts";

export function program(name: string): string {
  return join(programs, name);
}

export function lineOf(name: string, marker: string): number {
  const lines = readFileSync(program(name), "utf8").split("\n");
  const found = lines.findIndex((line) => new RegExp(`#.*@${marker}\\b`).test(line));
  if (found < 0) throw new Error(`no "# @${marker}" in ${name}`);
  return found + 1;
}

/** What torch says of `ramp` in tensors.py, one entry a call. */
export interface Numbers {
  min: number;
  max: number;
  mean: number;
  norm: number;
  NaN: number;
  zeros: number;
  values: string[][];
}

export function knownNumbers(folder: string): Numbers[] {
  const lines = readFileSync(join(folder, "numbers.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Numbers);
}
