/** What “Inspect Tensor” was asked to look at: each menu of the editor tells it differently. */
import { isRecord } from "./guards";

export type Inspected =
  | { readonly from: "expression"; readonly expression: string }
  /** A value without an expression that would find it again. */
  | { readonly from: "nameless"; readonly name: string }
  /** The editor's menu gives the file. */
  | { readonly from: "editor" }
  | { readonly from: "palette" };

export function inspected(argument: unknown): Inspected {
  if (typeof argument === "string" && argument.trim()) return found(argument);
  if (!isRecord(argument)) return { from: "palette" };
  const variable = isRecord(argument["variable"]) ? argument["variable"] : argument;
  for (const key of ["evaluateName", "expression"]) {
    const text = variable[key];
    if (typeof text === "string" && text.trim()) return found(text);
  }
  const { name } = variable;
  if (typeof name !== "string") return { from: "editor" };
  // A watch expression's name is the expression; a variable in a container is not its name.
  return isRecord(argument["container"]) ? { from: "nameless", name } : found(name);
}

function found(expression: string): Inspected {
  return { from: "expression", expression: expression.trim() };
}
