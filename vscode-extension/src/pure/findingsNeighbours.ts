/** Rows on what is behind a finding: its numbers, and where the value comes from and goes to. */
import type { HitDetails, Neighbour } from "../wire/generated";
import { placeOf } from "./findingsPlaces";
import { shapeOf, statistics } from "./statusNumbers";
import type { TreeNode } from "./tree";
import { code, paragraphs, plain } from "./treeMarkdown";

/** The table behind the sentence, a row a line; none for a finding without one. */
export function evidenceRow(key: string, { evidence }: HitDetails): TreeNode[] {
  if (evidence.length === 0) return [];
  return [
    {
      id: `${key}:evidence`,
      label: "Evidence",
      description: evidence[0] ?? "",
      tooltip: paragraphs("**Evidence**", code(evidence.join("\n"))),
      icon: { name: "graph-line" },
      expanded: false,
      children: evidence.map((line, index) => ({
        id: `${key}:evidence:${String(index)}`,
        label: line,
        tooltip: code(line),
      })),
    },
  ];
}

/** Two trees: the modules and operations before the value, and those after it. */
export function neighbourRows(key: string, { upstream, downstream }: HitDetails): TreeNode[] {
  return [
    ...side(`${key}:upstream`, "Comes from", "arrow-left", upstream),
    ...side(`${key}:downstream`, "Goes to", "arrow-right", downstream),
  ];
}

function side(id: string, label: string, icon: string, neighbours: readonly Neighbour[]): TreeNode[] {
  const first = neighbours[0];
  if (!first) return [];
  const children = below(id, neighbours);
  const description = children.map((child) => child.label).join(", ");
  return [{ id, label, description, icon: { name: icon }, children, expanded: false }];
}

/** The list is in the order of a tree's lines: what follows deeper belongs to the one before. */
function below(id: string, neighbours: readonly Neighbour[]): TreeNode[] {
  const rows: TreeNode[] = [];
  let start = 0;
  while (start < neighbours.length) {
    const own = neighbours[start];
    if (!own) break;
    let end = start + 1;
    while (end < neighbours.length && (neighbours[end]?.depth ?? 0) > own.depth) end++;
    rows.push(row(`${id}:${String(start)}`, own, neighbours.slice(start + 1, end)));
    start = end;
  }
  return rows;
}

function row(id: string, own: Neighbour, deeper: readonly Neighbour[]): TreeNode {
  const { tensor, source } = own;
  const stats = tensor ? [shapeOf(tensor), statistics(tensor)] : [];
  const op = own.op === own.name ? "" : own.op;
  const parts = [op, ...stats, source ? placeOf(source) : ""];
  const description = parts.filter((part) => part !== "").join(" · ");
  return {
    id,
    label: own.name,
    description,
    tooltip: paragraphs(`**${plain(own.name)}**`, plain(description), source?.text && code(source.text)),
    icon: { name: "symbol-method" },
    ...(source && {
      action: { id: "zentracer.openLocation", title: "Go to the line", args: [source] },
    }),
    ...(deeper.length > 0 && { children: below(id, deeper), expanded: true }),
  };
}
