/** Shows plain rows in one of the editor's tree views; only what changed is drawn again. */
import * as vscode from "vscode";
import { type TreeNode, changes, indexOf, parentsOf } from "../pure/tree";

export class NodeTree implements vscode.TreeDataProvider<string> {
  private readonly changed = new vscode.EventEmitter<string[] | undefined>();
  private roots: readonly TreeNode[] = [];
  private nodes = new Map<string, TreeNode>();
  private parents = new Map<string, string>();

  readonly onDidChangeTreeData = this.changed.event;

  show(roots: readonly TreeNode[]): void {
    const ids = changes(this.roots, roots);
    this.roots = roots;
    this.nodes = indexOf(roots);
    this.parents = parentsOf(roots);
    if (ids === "all") this.changed.fire(undefined);
    else if (ids.length > 0) this.changed.fire([...ids]);
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
}

function itemOf(node: TreeNode): vscode.TreeItem {
  const item = new vscode.TreeItem(node.label, collapsing(node));
  item.id = node.id;
  item.accessibilityInformation = { label: [node.label, node.description].filter(Boolean).join(", ") };
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

function collapsing(node: TreeNode): vscode.TreeItemCollapsibleState {
  if (!node.children || node.children.length === 0) return vscode.TreeItemCollapsibleState.None;
  return node.expanded
    ? vscode.TreeItemCollapsibleState.Expanded
    : vscode.TreeItemCollapsibleState.Collapsed;
}
