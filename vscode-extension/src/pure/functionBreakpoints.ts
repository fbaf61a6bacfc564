/** Breakpoints by name, as the editor's own list of function breakpoints takes them. */

export type FunctionKind = "module" | "backward" | "op";

/** `module:encoder.*` */
export function functionName(kind: FunctionKind, name: string): string {
  return `${kind}:${name}`;
}

/** One of the editor's function breakpoints; an absent condition is the same as an empty one. */
export interface Named {
  readonly functionName: string;
  readonly condition?: string | undefined;
  readonly hitCondition?: string | undefined;
}

/** Whether two of them stop at the same moments. */
export function isSameNamed(one: Named, other: Named): boolean {
  return (
    one.functionName === other.functionName &&
    (one.condition ?? "") === (other.condition ?? "") &&
    (one.hitCondition ?? "") === (other.hitCondition ?? "")
  );
}

/** In words, e.g. `The program stops before fc runs, if nan > 0`. */
export function momentOf({ functionName: name, condition, hitCondition }: Named): string {
  const [kind = "", ...rest] = name.split(":");
  const limits = [condition ? `if ${condition}` : "", hitCondition ?? ""].filter(Boolean);
  return [`The program stops ${momentText(kind, rest.join(":"))}`, ...limits].join(", ");
}

function momentText(kind: string, name: string): string {
  switch (kind) {
    case "module":
      return `before ${name} runs`;
    case "backward":
      return `when the gradients of ${name} arrive`;
    case "op":
      return `at each call of ${name}`;
    case "step":
      return name === "" ? "at the end of steps" : `at the end of step ${name}`;
    default:
      return `at ${name}`;
  }
}

/** Which steps to stop at, in the terms of a function breakpoint. */
export interface Steps {
  readonly name: string;
  readonly hitCondition: string | undefined;
}

/** Reads `120`, `every 100` or nothing (each step); a sentence where it is none of these. */
export function stepsOf(typed: string): Steps | string {
  const text = typed.trim();
  if (text === "") return { name: "step", hitCondition: undefined };
  if (/^\d+$/.test(text)) return { name: `step:${Number(text)}`, hitCondition: undefined };
  const every = /^(?:every\s+|%\s*)(\d+)(?:\s+steps?)?$/i.exec(text)?.[1];
  if (every !== undefined && Number(every) > 0) {
    return { name: "step", hitCondition: `every ${Number(every)} steps` };
  }
  return "Write a step's number, such as 120, or how often to stop, such as every 100.";
}
