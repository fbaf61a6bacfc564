/** The Tensor Breakpoints view: each with who set it, what it waits for and what it found last. */
import type { LastHit, TensorBreakpointState } from "../wire/generated";
import { type Added, asCondition, keyOf, stateOf } from "./breakpointsList";
import { count, plural, shapeOf, statistics } from "./statusNumbers";
import type { Icon, TreeNode } from "./tree";
import { code, paragraphs, plain } from "./treeMarkdown";

export const ADDED_PREFIX = "added:";

/**
 * Rows for all breakpoints of the active run, and for those added here while nothing runs.
 *
 * @param labelOf names a filter of which no adapter has told yet.
 */
export function breakpointsTree(
  states: readonly TensorBreakpointState[],
  added: readonly Added[],
  labelOf: (filter: string) => string,
  isLive: boolean,
): TreeNode[] {
  const others = states.filter((state) => state.source !== "view");
  return [
    ...added.map((item) => {
      const state = stateOf(states, item) ?? pending(item, labelOf(item.filter), isLive);
      const id = ADDED_PREFIX + keyOf(item);
      return { ...node(id, { ...state, enabled: item.enabled }), checked: item.enabled };
    }),
    ...others.map((state) => node(`state:${String(state.id)}`, state)),
  ];
}

/** The key of a row that was added here. */
export function keyOfRow(id: string): string | undefined {
  return id.startsWith(ADDED_PREFIX) ? id.slice(ADDED_PREFIX.length) : undefined;
}

/** `NaN or Inf in encoder.*` */
export function titleOf(state: Pick<TensorBreakpointState, "label" | "module">): string {
  return state.module === null ? state.label : `${state.label} in ${state.module}`;
}

function pending(item: Added, label: string, isLive: boolean): TensorBreakpointState {
  return {
    ...item,
    id: 0,
    label,
    source: "view",
    verified: !isLive,
    message: isLive ? "ZenTracer has not confirmed this breakpoint yet." : null,
    hits: 0,
    last: null,
  };
}

/** What a breakpoint waits for and what it found, as far as rows are alike for all kinds. */
export type Standing = Pick<
  TensorBreakpointState,
  "enabled" | "verified" | "message" | "hits" | "last"
>;

/** The rows below a breakpoint: why it is not active, and its last hit. */
export function rowsBelow(
  id: string,
  state: Standing,
): Pick<TreeNode, "action" | "children" | "expanded"> {
  const rows = [...reasonRow(id, state), ...(state.last ? lastRows(id, state.last) : [])];
  return {
    ...(state.last && { action: goTo(state.last) }),
    // Every row has some below it: among rows with and without, the tick boxes would stand askew.
    children: rows.length > 0 ? rows : [noHit(id)],
    expanded: rows.length > 0,
  };
}

/** What the icon shows, in a word. */
export function standing(state: Standing): string {
  if (!state.enabled) return "disabled";
  return state.verified ? "enabled" : "not active";
}

/** `×3`, or nothing. */
export function timesHit({ hits }: Standing): string {
  return hits > 0 ? `×${count(hits)}` : "";
}

/** What a tooltip says of the hits. */
export function hitsText({ hits, last }: Standing): string[] {
  return [
    hits > 0 ? `Hit ${hits === 1 ? "once" : plural(hits, "time")}.` : "",
    last ? `Last: ${plain(last.text)}` : "",
  ];
}

function node(id: string, state: TensorBreakpointState): TreeNode {
  return {
    id,
    label: titleOf(state),
    description: [
      timesHit(state),
      state.condition === null ? "" : `if ${state.condition}`,
    ]
      .filter((part) => part !== "")
      .join(" · "),
    tooltip: tooltip(state),
    spoken: standing(state),
    icon: iconOf(state),
    context: `tensorBreakpoint.${state.source}`,
    ...rowsBelow(id, state),
  };
}

/** Why the program does not stop here. */
function reasonRow(id: string, { enabled, verified, message }: Standing): TreeNode[] {
  if (!enabled || message === null) return [];
  const icon = verified
    ? { name: "info", colour: "problemsInfoIcon.foreground" }
    : { name: "warning", colour: "problemsWarningIcon.foreground" };
  return [{ id: `${id}:reason`, label: message, tooltip: plain(message), icon }];
}

function noHit(id: string): TreeNode {
  return { id: `${id}:none`, label: "not hit yet", icon: { name: "history", colour: "disabledForeground" } };
}

function lastRows(id: string, last: LastHit): TreeNode[] {
  const numbers = statistics(last.tensor);
  const when = [
    last.step === null ? "" : `step ${String(last.step)}`,
    last.rank === null ? "" : `rank ${String(last.rank)}`,
  ].filter((part) => part !== "");
  const rows: TreeNode[] = [
    {
      id: `${id}:last`,
      label: when.length > 0 ? when.join(" · ") : "last hit",
      description: last.text,
      tooltip: plain(last.text),
      icon: { name: "history" },
      action: goTo(last),
    },
  ];
  if (numbers === "" && shapeOf(last.tensor) === "") return rows;
  return [
    ...rows,
    {
      id: `${id}:tensor`,
      label: shapeOf(last.tensor),
      description: numbers,
      tooltip: paragraphs(code(shapeOf(last.tensor)), plain(numbers)),
      icon: { name: "symbol-array" },
      action: goTo(last),
    },
  ];
}

function goTo(last: LastHit): TreeNode["action"] {
  return { id: "zentracer.openLocation", title: "Go to the line of the last hit", args: [last.origin] };
}

function iconOf(state: TensorBreakpointState): Icon {
  const shape = state.condition === null ? "debug-breakpoint" : "debug-breakpoint-conditional";
  if (!state.enabled) return { name: `${shape}-disabled`, colour: "debugIcon.breakpointDisabledForeground" };
  if (!state.verified) {
    return { name: `${shape}-unverified`, colour: "debugIcon.breakpointUnverifiedForeground" };
  }
  return { name: shape, colour: "debugIcon.breakpointForeground" };
}

function tooltip(state: TensorBreakpointState): string {
  const whole = asCondition(state.module, state.condition);
  return paragraphs(
    `**${plain(titleOf(state))}** — ${standing(state)}`,
    state.enabled && state.message && plain(state.message),
    whole && `Stops if ${code(whole)}`,
    ...hitsText(state),
    origin(state.source),
  );
}

function origin(source: string): string {
  switch (source) {
    case "editor":
      return "Set in the editor's Breakpoints view (Run and Debug). Change it and its condition there.";
    case "launch":
      return "Set by the launch configuration, in “breakOn” of its “zentracer” object.";
    default:
      return "Added here; kept for this workspace.";
  }
}
