/** Shows plain rows in one of the editor's tree views; only what changed is drawn again. */
import * as vscode from "vscode";
import { type Opening, type TreeNode, changes, indexOf, openingOf, parentsOf } from "../pure/tree";
import { Pace } from "../pure/treePace";

/**
 * The editor waits for 200 ms without news before it draws a tree again: with steps coming ten times
 * a second it would wait for ever.
 */
const GAP_MS = 250;

const COLLAPSING: Readonly<Record<Opening, vscode.TreeItemCollapsibleState>> = {
  none: vscode.TreeItemCollapsibleState.None,
  closed: vscode.TreeItemCollapsibleState.Collapsed,
  open: vscode.TreeItemCollapsibleState.Expanded,
};

export class NodeTree implements vscode.TreeDataProvider<string>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<string[] | undefined>();
  private readonly pace = new Pace(GAP_MS, () => {
    this.draw();
  });
  private roots: readonly TreeNode[] = [];
  private next: readonly TreeNode[] = [];
  private nodes = new Map<string, TreeNode>();
  private parents = new Map<string, string>();

  readonly onDidChangeTreeData = this.changed.event;

  show(roots: readonly TreeNode[]): void {
    this.next = roots;
    if (changes(this.roots, roots).length > 0) this.pace.request();
  }

  dispose(): void {
    this.pace.dispose();
    this.changed.dispose();
  }

  getChildren(id?: string): string[] {
    const nodes = id === undefined ? this.roots : (this.nodes.get(id)?.children ?? []);
    return nodes.map((node) => node.id);
  }

  getParent(id: string): string | undefined {
    return this.parents.get(id);
  }

  getTreeItem(id: string): vscode.TreeItem {
    const node = this.nodes.get(id);
    // A row may be asked for just after it went.
    return node ? itemOf(node) : new vscode.TreeItem("");
  }

  private draw(): void {
    const ids = changes(this.roots, this.next);
    this.roots = this.next;
    this.nodes = indexOf(this.roots);
    this.parents = parentsOf(this.roots);
    if (ids === "all") this.changed.fire(undefined);
    else if (ids.length > 0) this.changed.fire([...ids]);
  }
}

function itemOf(node: TreeNode): vscode.TreeItem {
  const item = new vscode.TreeItem(node.label, COLLAPSING[openingOf(node)]);
  // The editor remembers by this id whether a row is open; one that has news opens all the same.
  item.id = `${node.id} ${openingOf(node)}`;
  const spoken = [node.label, node.spoken, node.description];
  item.accessibilityInformation = { label: spoken.filter(Boolean).join(", ") };
  if (node.description) item.description = node.description;
  if (node.tooltip !== undefined) item.tooltip = new vscode.MarkdownString(node.tooltip);
  if (node.context !== undefined) item.contextValue = node.context;
  if (node.icon) {
    const colour = node.icon.colour === undefined ? undefined : new vscode.ThemeColor(node.icon.colour);
    item.iconPath = new vscode.ThemeIcon(node.icon.name, colour);
  }
  if (node.action) {
    item.command = { command: node.action.id, title: node.action.title, arguments: [...node.action.args] };
  }
  if (node.checked !== undefined) {
    item.checkboxState = node.checked
      ? { state: vscode.TreeItemCheckboxState.Checked, tooltip: "Disable this breakpoint" }
      : { state: vscode.TreeItemCheckboxState.Unchecked, tooltip: "Enable this breakpoint" };
  }
  return item;
}
