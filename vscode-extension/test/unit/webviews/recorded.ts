/** Answers of the real runtime, which record.py wrote. */
import { readAnswer } from "../../../src/pure/guards";
import type { TensorView } from "../../../src/wire/generated";
import answers from "./recorded.json";

export function recorded(name: keyof typeof answers): TensorView {
  return readAnswer("tensor", answers[name]);
}
