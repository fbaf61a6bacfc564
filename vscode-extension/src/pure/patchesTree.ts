/** The Patches view: what was changed in the running program, newest first, with what became of it. */
import type { PatchState } from "../wire/generated";
import type { Change } from "./patchesLog";
import { bad, count, plural, shapeOf, short, statistics } from "./statusNumbers";
import type { Icon, TreeNode } from "./tree";
import { code, paragraphs, plain } from "./treeMarkdown";

const ARROW = "→";

/** Rows for changes; below their processes only where there is more than one. */
export function patchesTree(changes: readonly Change[]): TreeNode[] {
  const owners = [...new Set(changes.map(ownerKey))];
  if (owners.length <= 1) return rows(changes);
  return owners.map((key) => {
    const some = changes.filter((change) => ownerKey(change) === key);
    return {
      id: `patches:${key}`,
      label: some[0]?.owner ?? "",
      description: count(some.length),
      children: rows(some),
      expanded: true,
    };
  });
}

/** What was changed and how: its label, or `fc.weight[0, 3] set to 0.5`. */
export function titleOf(state: PatchState): string {
  return (state.label?.trim() || `${state.target} ${state.text}`).replace(/\s+/g, " ");
}

/** Number and text for the view's badge: what is in force now. */
export function patchesBadge(
  changes: readonly Change[],
): { value: number; tooltip: string } | undefined {
  const value = changes.filter((change) => change.isLive && change.state.status === "applied").length;
  return value > 0 ? { value, tooltip: `ZenTracer: ${plural(value, "change")} in force` } : undefined;
}

/** `0.1 → 0.5`: the elements where they are few, else what the statistics say. */
export function difference(state: PatchState): string {
  if (state.old !== "" || state.new !== "") return `${state.old} ${ARROW} ${state.new}`;
  const { before, after } = state;
  if (!before || !after) return "";
  const pairs = [
    ["μ", before.mean, after.mean],
    ["σ", before.std, after.std],
  ] as const;
  const told = pairs.flatMap(([name, old, now]) =>
    old === null || now === null ? [] : [`${name} ${short(old)} ${ARROW} ${short(now)}`],
  );
  return [...told, bad(after)].filter(Boolean).join(" · ");
}

function ownerKey(change: Change): string {
  return `${change.sessionId}:${String(change.pid)}`;
}

function rows(changes: readonly Change[]): TreeNode[] {
  return changes.map(row).reverse();
}

function row(change: Change): TreeNode {
  const { state } = change;
  const known = STATUSES[state.status];
  return {
    id: change.key,
    label: titleOf(state),
    description: [known?.word ?? state.status, difference(state)].filter(Boolean).join(" · "),
    ...(known?.word === "" && { spoken: "applied" }),
    tooltip: tooltip(change),
    icon: known?.icon ?? { name: "question" },
    context: contextOf(change),
  };
}

interface Status {
  readonly word: string;
  readonly icon: Icon;
  readonly says: string;
}

const STATUSES: Readonly<Record<string, Status>> = {
  applied: { word: "", icon: { name: "check", colour: "charts.green" }, says: "In force." },
  undone: { word: "undone", icon: { name: "discard", colour: "disabledForeground" }, says: "Undone." },
  out_of_sync: {
    word: "out of sync",
    icon: { name: "warning", colour: "list.warningForeground" },
    says: "The value has moved on since.",
  },
  gone: {
    word: "freed",
    icon: { name: "circle-slash", colour: "disabledForeground" },
    says: "What was changed exists no more.",
  },
};

/** What the menus ask for: `patch.undo` and `patch.redo` can be done, all have code but `.bare`. */
function contextOf({ state, isLive, isDone }: Change): string {
  const isOver = !isLive || state.status === "gone";
  const action = isOver ? "over" : isDone ? "undo" : "redo";
  return `patch.${action}${state.code === "" ? ".bare" : ""}`;
}

function tooltip({ state, owner, isLive }: Change): string {
  const { before, after } = state;
  const shape = after ? shapeOf(after) : "";
  const time = state.time > 0 ? new Date(state.time * 1000).toLocaleTimeString("en-GB") : "";
  const when = [
    `Change ${String(state.patch_id)}`,
    state.step === null ? "" : `step ${String(state.step)}`,
    state.where === "" ? "" : `at ${state.where}`,
    time === "" ? "" : `at ${time}`,
  ];
  return paragraphs(
    `${code(state.target)} ${plain(state.text)}${shape === "" ? "" : ` — ${plain(shape)}`}`,
    plain(difference(state)),
    before && after && `before: ${plain(statistics(before))}  \nafter: ${plain(statistics(after))}`,
    ...state.notes.map((note) => plain(sentence(note))),
    isLive ? STATUSES[state.status]?.says : "The program has ended.",
    state.message && plain(state.message),
    plain([...when.filter(Boolean), owner].join(" · ")),
  );
}

/** `the same memory is b.weight` as a sentence of its own. */
function sentence(note: string): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1)}${/[.!?]$/.test(note) ? "" : "."}`;
}
