/** Answers of the real runtime, which record.py wrote. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readAnswer } from "../../../src/pure/guards";
import type { TensorView } from "../../../src/wire/generated";

export function recorded(name: string): TensorView {
  const file = join(import.meta.dirname, "recorded", `${name}.json`);
  return readAnswer("tensor", JSON.parse(readFileSync(file, "utf8")));
}
