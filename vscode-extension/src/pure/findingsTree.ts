/** The Findings view: what was found, where, how often, and below it what there is to know. */
import type { Fact, HitDetails, Location, Stats, Suggestion } from "../wire/generated";
import { suggestionId } from "./findingsFixes";
import type { Item } from "./findingsLog";
import { evidenceRow, neighbourRows } from "./findingsNeighbours";
import { placeOf } from "./findingsPlaces";
import { count, plural, shapeOf, statistics } from "./statusNumbers";
import type { Action, Icon, TreeNode } from "./tree";
import { code, paragraphs, plain } from "./treeMarkdown";

/**
 * Rows for findings; groups appear only where there is more than one of a kind.
 *
 * @param isEdited whether the line of a finding was edited since.
 */
export function findingsTree(items: readonly Item[], isEdited: (key: string) => boolean): TreeNode[] {
  return grouped(
    items,
    "session",
    (item) => item.sessionId,
    (item) => item.sessionName,
    (some) =>
      grouped(
        some,
        `rule:${some[0]?.sessionId ?? ""}`,
        (item) => item.finding.rule,
        (item) => item.finding.label,
        (same) => same.map((item) => findingNode(item, isEdited(item.key))),
      ),
  );
}

const ERROR = "zentracer.error";

/** The sentence without what the row says elsewhere: module, phase, step, numbers, line. */
export function headline(item: Item): string {
  const { message, details, label } = item.finding;
  if (details?.filter === ERROR) return `${label}: ${message}`;
  let text = message.split(/ \((?:forward|loss|backward|update)\b|[:;]\s/, 1)[0] ?? message;
  const module = details?.module;
  if (module && text.endsWith(` in ${module}`)) text = text.slice(0, -` in ${module}`.length);
  return text.replace("gradient made by ", "gradient of ").replace(/\b[A-Z]\w*(?=Backward\d+\b)(Backward\d+)/, operationOf);
}

/** Autograd calls the derivative of `layer_norm` LayerNormBackward0; nobody else does. */
function operationOf(node: string, suffix: string): string {
  const name = node.slice(0, -suffix.length);
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
}

/** Number and text for the view's badge: what nobody has worked on yet. */
export function badge(
  items: readonly Item[],
  isEdited: (key: string) => boolean,
): { value: number; tooltip: string } | undefined {
  const value = items.filter((item) => !isEdited(item.key)).length;
  return value > 0 ? { value, tooltip: `ZenTracer: ${plural(value, "finding")}` } : undefined;
}

function grouped(
  items: readonly Item[],
  kind: string,
  keyOf: (item: Item) => string,
  labelOf: (item: Item) => string,
  below: (items: readonly Item[]) => TreeNode[],
): TreeNode[] {
  const keys = [...new Set(items.map(keyOf))];
  if (keys.length <= 1) return items.length > 0 ? below(items) : [];
  return keys.map((key) => {
    const some = items.filter((item) => keyOf(item) === key);
    const first = some[0];
    return {
      id: `${kind}:${key}`,
      label: first ? labelOf(first) : key,
      description: count(some.length),
      children: below(some),
      expanded: true,
    };
  });
}

function findingNode(item: Item, isEdited: boolean): TreeNode {
  const { finding } = item;
  const { details } = finding;
  const step = details?.step ?? null;
  const edits = !isEdited && (details?.suggestions.some((suggestion) => suggestion.edit) ?? false);
  return {
    id: item.key,
    label: headline(item),
    description: [
      isEdited ? "edited" : "",
      placeOf(finding.source),
      step === null ? "" : `step ${String(step)}`,
      finding.count > 1 ? `×${count(finding.count)}` : "",
      finding.rank === null ? "" : `rank ${String(finding.rank)}`,
    ]
      .filter((part) => part !== "")
      .join(" · "),
    tooltip: paragraphs(tooltip(item), isEdited && "The line was edited since; restart to see whether it helped."),
    spoken: finding.severity,
    icon: iconOf(finding.severity),
    action: { id: "zentracer.goToFinding", title: "Go to the line", args: [item.key] },
    context: edits ? "finding.fix" : "finding",
    children: details ? detailRows(item, details) : [stackRow(item, finding.stack)],
    expanded: false,
  };
}

function detailRows(item: Item, details: HitDetails): TreeNode[] {
  const stands = details.source.path !== details.origin.path || details.source.line !== details.origin.line;
  const stack = details.stack.length > 0 ? details.stack : item.finding.stack;
  return [
    ...details.suggestions.map((suggestion, index) => suggestionRow(item, suggestion, index)),
    ...(stands ? [standsRow(item, details.source)] : []),
    ...(hasTensor(details) ? [tensorRow(item, "result", details.tensor, details.tensor.name ?? "result")] : []),
    ...details.inputs.map((input, index) =>
      tensorRow(item, `input${String(index)}`, input, input.name ?? "input"),
    ),
    ...details.facts.map((fact, index) => factRow(item, fact, index)),
    ...evidenceRow(item.key, details),
    ...neighbourRows(item.key, details),
    ...noteRow(item, "finite", details.finite_before),
    ...noteRow(item, "note", details.note),
    ...(stack.length > 0 ? [stackRow(item, stack)] : []),
  ];
}

/** Not every finding is about a tensor; one that was has a shape or a place in the list of inputs. */
function hasTensor({ filter, tensor }: HitDetails): boolean {
  return tensor.dtype !== "unknown" || filter === "zentracer.nonfinite";
}

function suggestionRow(item: Item, suggestion: Suggestion, index: number): TreeNode {
  const { edit } = suggestion;
  return {
    id: suggestionId(item.key, index),
    label: suggestion.title,
    description: suggestion.why,
    tooltip: paragraphs(
      `**${plain(suggestion.title)}**`,
      plain(suggestion.why),
      edit && `Replace ${code(edit.old_text)}`,
      edit && `by ${code(edit.new_text)}`,
    ),
    icon: edit
      ? { name: "lightbulb-autofix", colour: "editorLightBulbAutoFix.foreground" }
      : { name: "lightbulb", colour: "editorLightBulb.foreground" },
    context: edit ? "finding.fix" : "suggestion",
    ...(edit && { action: open({ ...placeless, path: edit.path, line: edit.line, text: edit.old_text }) }),
  };
}

const placeless = { column: null, end_column: null, end_line: null, function: null };

function standsRow(item: Item, source: Location): TreeNode {
  return {
    id: `${item.key}:source`,
    label: `stands at ${source.path === item.finding.source.path ? `line ${source.line}` : placeOf(source)}`,
    description: source.text?.trim() ?? "",
    tooltip: paragraphs("The program stands here", source.text && code(source.text)),
    icon: { name: "debug-stackframe", colour: "debugIcon.breakpointCurrentStackframeForeground" },
    action: open(source),
  };
}

function tensorRow(item: Item, id: string, stats: Stats, name: string): TreeNode {
  const all = [shapeOf(stats), statistics(stats)].filter((part) => part !== "").join(" · ");
  return {
    id: `${item.key}:${id}`,
    label: name,
    description: all === "" ? "no longer in memory" : all,
    tooltip: paragraphs(`**${plain(name)}**`, plain(all), stats.dtype !== "unknown" && plain(stats.device)),
    icon: { name: "symbol-array" },
  };
}

/** What else is known: the lines that made the operands, shapes on the way … */
function factRow(item: Item, { text, location }: Fact, index: number): TreeNode {
  return {
    id: `${item.key}:fact:${String(index)}`,
    label: text,
    description: location ? `${placeOf(location)} ${location.text?.trim() ?? ""}`.trim() : "",
    tooltip: paragraphs(plain(text), location?.text && code(location.text)),
    icon: { name: location ? "symbol-reference" : "note" },
    ...(location && { action: open(location) }),
  };
}

function noteRow(item: Item, id: string, text: string | null): TreeNode[] {
  if (text === null || text === "") return [];
  return [{ id: `${item.key}:${id}`, label: text, tooltip: plain(text), icon: { name: "note" } }];
}

function stackRow(item: Item, stack: readonly Location[]): TreeNode {
  return {
    id: `${item.key}:stack`,
    label: "Stack",
    description: plural(stack.length, "frame"),
    icon: { name: "list-ordered" },
    expanded: false,
    children: stack.map((frame, index) => ({
      id: `${item.key}:stack:${String(index)}`,
      label: frame.function ?? frame.text?.trim() ?? "frame",
      description: placeOf(frame),
      tooltip: paragraphs(plain(`${frame.path}:${String(frame.line)}`), frame.text && code(frame.text)),
      icon: { name: "debug-stackframe-dot" },
      action: open(frame),
    })),
  };
}

function open(location: Location): Action {
  return { id: "zentracer.openLocation", title: "Go to the line", args: [location] };
}

function iconOf(severity: string): Icon {
  switch (severity) {
    case "error":
      return { name: "error", colour: "problemsErrorIcon.foreground" };
    case "warning":
      return { name: "warning", colour: "problemsWarningIcon.foreground" };
    default:
      return { name: "info", colour: "problemsInfoIcon.foreground" };
  }
}

function tooltip(item: Item): string {
  const { finding } = item;
  const text = finding.source.text;
  return paragraphs(
    `**${plain(finding.label)}** — ${plain(placeOf(finding.source))}`,
    plain(finding.message),
    text && code(text),
    finding.count > 1 && `Found ${plural(finding.count, "time")}. The details are those of the latest.`,
    plain(`In “${item.sessionName}”`),
  );
}
