/** The tensor breakpoints that were added in ZenTracer's view: a list without duplicates. */
import type { SetTensorBreakpoints, TensorBreakpointState } from "../wire/generated";
import { isRecord } from "./guards";
import { changesOf } from "./listChanges";

export interface Added {
  readonly filter: string;
  readonly module: string | null;
  readonly condition: string | null;
  readonly enabled: boolean;
}

/** What makes a breakpoint the same one; whether it is enabled does not. */
export function keyOf(breakpoint: Pick<Added, "filter" | "module" | "condition">): string {
  return JSON.stringify([breakpoint.filter, breakpoint.module, breakpoint.condition]);
}

export const { withAdded, withReplaced, withoutKey, withEnabled } = changesOf<Added>(keyOf);

export function asRequest(list: readonly Added[]): SetTensorBreakpoints {
  return { breakpoints: list.map((item) => ({ ...item })) };
}

/** Reads what an older version may have stored; what cannot be read is left out. */
export function readStored(stored: unknown): readonly Added[] {
  if (!Array.isArray(stored)) return [];
  return stored.flatMap((item: unknown) => {
    if (!isRecord(item) || typeof item["filter"] !== "string") return [];
    const { filter, module, condition, enabled } = item;
    return [{ filter, module: text(module), condition: text(condition), enabled: enabled !== false }];
  });
}

/** The state that an adapter told about one of the list. */
export function stateOf(
  states: readonly TensorBreakpointState[],
  item: Pick<Added, "filter" | "module" | "condition">,
): TensorBreakpointState | undefined {
  return states.find((state) => state.source === "view" && keyOf(state) === keyOf(item));
}

/** The same as one expression, as the editor's Breakpoints view takes it. */
export function asCondition(module: string | null, condition: string | null): string | null {
  if (module === null) return condition;
  const place = `match(${JSON.stringify(module)})`;
  if (condition === null) return place;
  return `${place} and ${/\b(or|if)\b/.test(condition) ? `(${condition})` : condition}`;
}

/** Empty text means none. */
export function text(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}
