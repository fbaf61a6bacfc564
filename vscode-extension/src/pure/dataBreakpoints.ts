/** The data breakpoints that were set through ZenTracer: lists by process, as the adapter keeps them. */
import type { DataBreakpointState, ViewDataBreakpoint } from "../wire/generated";
import { isRecord } from "./guards";
import { inspected } from "./inspectArgument";
import { changesOf } from "./listChanges";

/** One with every field, so that two of them can be compared. */
export type DataItem = Required<ViewDataBreakpoint>;

export const NAN_CONDITION = "nan > 0";

export function dataKeyOf(item: Pick<DataItem, "data_id" | "condition" | "hit_condition">): string {
  return JSON.stringify([item.data_id, item.condition, item.hit_condition]);
}

export const dataChanges = changesOf<DataItem>(dataKeyOf);

/** The list of one process. */
export function dataListOf(states: readonly DataBreakpointState[], pid: number): readonly DataItem[] {
  return states
    .filter((state) => state.source === "view" && state.pid === pid)
    .map(({ data_id, name, condition, hit_condition, enabled }) => ({
      data_id,
      name,
      condition,
      hit_condition,
      enabled,
    }));
}

/** The state of one of a process's list. */
export function dataStateOf(
  states: readonly DataBreakpointState[],
  pid: number,
  item: DataItem,
): DataBreakpointState | undefined {
  return states.find(
    (state) => state.source === "view" && state.pid === pid && dataKeyOf(state) === dataKeyOf(item),
  );
}

/** What is watched, without what else is said of it: `x` of `x · float32[3]`. */
export function nameOf(description: string): string {
  return description.split(" · ")[0] ?? description;
}

/** What a menu or a page asks to watch; `sessionId` is the editor's. */
export interface Watched {
  readonly name: string;
  /** Where `name` is a row below this one; without it, it is an expression. */
  readonly variablesReference?: number;
  readonly sessionId?: string;
  /** Where the expression is evaluated, if not in the frame that is looked at. */
  readonly frameId?: number;
}

/** Reads the argument of a command; undefined where the editor's cursor or the user has to tell. */
export function watchedOf(argument: unknown): Watched | undefined {
  const sessionId = isRecord(argument) ? argument["sessionId"] : undefined;
  const session = typeof sessionId === "string" ? { sessionId } : {};
  const row = rowOf(argument);
  if (row) return { ...row, ...session };
  const found = inspected(argument);
  if (found.from !== "expression") return undefined;
  const frameId = isRecord(argument) ? argument["frameId"] : undefined;
  return { name: found.expression, ...session, ...(typeof frameId === "number" && { frameId }) };
}

/** A row of the Variables view, in DAP's own terms: not every row has an expression. */
function rowOf(argument: unknown): Watched | undefined {
  if (!isRecord(argument)) return undefined;
  const { container, variable } = argument;
  if (!isRecord(container) || !isRecord(variable)) return undefined;
  const { variablesReference } = container;
  const { name } = variable;
  if (typeof variablesReference !== "number" || variablesReference <= 0) return undefined;
  return typeof name === "string" ? { name, variablesReference } : undefined;
}

/** An adapter's answer to `dataBreakpointInfo`: an id, or why there is none. */
export interface DataInfo {
  readonly dataId: string | undefined;
  readonly description: string;
}

export function readDataInfo(body: unknown): DataInfo {
  const { dataId, description } = isRecord(body) ? body : {};
  return {
    dataId: typeof dataId === "string" ? dataId : undefined,
    description: typeof description === "string" ? description : "This cannot have a data breakpoint.",
  };
}
