/** The Findings view and the commands that go to what was found. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { readSuggestionId } from "../pure/findingsFixes";
import type { Item } from "../pure/findingsLog";
import { badge, findingsTree, headline } from "../pure/findingsTree";
import { placeOf } from "../pure/findingsPlaces";
import type { Location } from "../wire/generated";
import { linesOfFindings } from "./diagnostics";
import { findingsOf } from "./findingsStore";
import { NodeTree } from "./nodeTree";
import { openPlace } from "./places";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const store = findingsOf(context, sessions);
  const lines = linesOfFindings(context, store);
  const tree = new NodeTree();
  const view = vscode.window.createTreeView("zentracer.findings", {
    treeDataProvider: tree,
    showCollapseAll: true,
  });
  const refresh = (): void => {
    const isEdited = (key: string): boolean => lines.lineOf(key) === undefined;
    tree.show(findingsTree(store.items(), isEdited));
    view.badge = badge(store.items(), isEdited);
  };
  context.subscriptions.push(
    tree,
    view,
    lines.onDidChange(refresh),
    vscode.commands.registerCommand("zentracer.clearFindings", () => {
      store.clear();
    }),
    vscode.commands.registerCommand("zentracer.goToFinding", async (id: unknown) => {
      const item = typeof id === "string" ? store.find(readSuggestionId(id).key) : await pick(store.items());
      if (item) await openPlace(item.finding.source, lines.lineOf(item.key));
    }),
    vscode.commands.registerCommand("zentracer.openLocation", (place: Location) => openPlace(place)),
  );
  refresh();
}

async function pick(items: readonly Item[]): Promise<Item | undefined> {
  if (items.length === 0) {
    void vscode.window.showInformationMessage("ZenTracer has found nothing yet.");
  }
  if (items.length <= 1) return items[0];
  const rows = items.map((item) => ({
    label: headline(item),
    description: placeOf(item.finding.source),
    detail: item.finding.message,
    item,
  }));
  const chosen = await vscode.window.showQuickPick(rows, {
    title: "Go to finding",
    placeHolder: "Which one?",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return chosen?.item;
}
