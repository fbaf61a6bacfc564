/** Rows of a view as plain values: what they show, and which of them changed. */

/** A product icon of the editor, with a theme colour beside its shape. */
export interface Icon {
  readonly name: string;
  readonly colour?: string;
}

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly args: readonly unknown[];
}

export interface TreeNode {
  /** Stays the same while the row means the same, so that it keeps its place and its selection. */
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  /** Read aloud after the label: what only the icon shows. */
  readonly spoken?: string;
  /** Markdown; text of the user's is escaped. */
  readonly tooltip?: string;
  readonly icon?: Icon;
  readonly action?: Action;
  /** For `when` clauses of menus. */
  readonly context?: string;
  /** Rows without it have no tick box. */
  readonly checked?: boolean;
  /** Whether its children are seen at first. */
  readonly expanded?: boolean;
  readonly children?: readonly TreeNode[];
}

/** All rows by their id. */
export function indexOf(roots: readonly TreeNode[]): Map<string, TreeNode> {
  const found = new Map<string, TreeNode>();
  const visit = (node: TreeNode): void => {
    found.set(node.id, node);
    node.children?.forEach(visit);
  };
  roots.forEach(visit);
  return found;
}

export type Opening = "none" | "closed" | "open";

/** Whether there is something below a row, and whether it is seen at first. */
export function openingOf(node: TreeNode): Opening {
  if (!node.children || node.children.length === 0) return "none";
  return node.expanded ? "open" : "closed";
}

/**
 * The ids to draw again, or `all` for the rows at the top.
 *
 * The row above is drawn again when rows come or go, and when one has to open or close by itself.
 */
export function changes(
  before: readonly TreeNode[],
  after: readonly TreeNode[],
): readonly string[] | "all" {
  if (idsOf(before) !== idsOf(after)) return "all";
  const known = indexOf(before);
  const changed: string[] = [];
  const visit = (node: TreeNode): void => {
    const old = known.get(node.id);
    if (old !== undefined && ownText(old) === ownText(node)) node.children?.forEach(visit);
    else changed.push(node.id);
  };
  after.forEach(visit);
  return changed;
}

/** The id of the row above each row. */
export function parentsOf(roots: readonly TreeNode[]): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (node: TreeNode): void => {
    for (const child of node.children ?? []) {
      found.set(child.id, node.id);
      visit(child);
    }
  };
  roots.forEach(visit);
  return found;
}

function idsOf(nodes: readonly TreeNode[]): string {
  return JSON.stringify(nodes.map((node) => [node.id, openingOf(node)]));
}

/** What a row shows by itself, and which rows are below it. */
function ownText(node: TreeNode): string {
  return JSON.stringify([{ ...node, children: null }, idsOf(node.children ?? [])]);
}
