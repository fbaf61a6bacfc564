/** The rows of data breakpoints in the Tensor Breakpoints view. */
import type { DataBreakpointState } from "../wire/generated";
import { hitsText, rowsBelow, standing, timesHit } from "./breakpointsTree";
import { dataKeyOf, nameOf } from "./dataBreakpoints";
import type { Icon, TreeNode } from "./tree";
import { code, paragraphs, plain } from "./treeMarkdown";

const PREFIX = "data:";

/**
 * Rows for the data breakpoints of a run.
 *
 * @param processOf names a process where there are several.
 */
export function dataTree(
  states: readonly DataBreakpointState[],
  processOf: (pid: number) => string,
): TreeNode[] {
  return states.map((state) => {
    const isOurs = state.source === "view";
    const id = isOurs ? `${PREFIX}${JSON.stringify([state.pid, dataKeyOf(state)])}` : `state:${state.id}`;
    return {
      id,
      label: nameOf(state.name),
      description: [timesHit(state), limitsOf(state), processOf(state.pid)].filter(Boolean).join(" · "),
      tooltip: tooltip(state, processOf(state.pid)),
      spoken: `data breakpoint, ${standing(state)}`,
      icon: iconOf(state),
      context: `dataBreakpoint.${state.source}`,
      ...(isOurs && { checked: state.enabled }),
      ...rowsBelow(id, state),
    };
  });
}

export interface DataRow {
  readonly pid: number;
  readonly key: string;
}

/** The breakpoint of a row that was set through ZenTracer. */
export function dataRowOf(id: string): DataRow | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  const [pid, key] = JSON.parse(id.slice(PREFIX.length)) as [number, string];
  return { pid, key };
}

type Limits = Pick<DataBreakpointState, "condition" | "hit_condition">;

/** `when it changes`, or `if nan > 0 · hit >= 3`. */
export function limitsOf({ condition, hit_condition: hits }: Limits): string {
  const parts = [condition === null ? "when it changes" : `if ${condition}`];
  if (hits !== null) parts.push(/^every\b/i.test(hits) ? hits : `hit ${hits}`);
  return parts.join(" · ");
}

function iconOf({ enabled, verified }: DataBreakpointState): Icon {
  if (!enabled) {
    return { name: "debug-breakpoint-data-disabled", colour: "debugIcon.breakpointDisabledForeground" };
  }
  return verified
    ? { name: "debug-breakpoint-data", colour: "debugIcon.breakpointForeground" }
    : { name: "debug-breakpoint-data-unverified", colour: "debugIcon.breakpointUnverifiedForeground" };
}

function tooltip(state: DataBreakpointState, process: string): string {
  const { condition, hit_condition: hits } = state;
  return paragraphs(
    `**${plain(state.name)}** — ${standing(state)}`,
    state.enabled && state.message && plain(state.message),
    `Stops at the line that changes what is in it${condition === null ? "" : `, if ${code(condition)}`}.`,
    hits !== null && `Hit count: ${code(hits)}`,
    process && plain(process),
    ...hitsText(state),
    state.source === "view"
      ? "Set through ZenTracer; it ends with the tensor or with the program."
      : "Set in the editor's Breakpoints view (Run and Debug). Change it and its condition there.",
  );
}
