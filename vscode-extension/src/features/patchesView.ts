/** The Patches view: what was changed in the running program; undo, redo, and “keep as code”. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { patchesCode } from "../pure/patchesCode";
import type { Change } from "../pure/patchesLog";
import { difference, patchesBadge, patchesTree, titleOf } from "../pure/patchesTree";
import { plural } from "../pure/statusNumbers";
import { NodeTree } from "./nodeTree";
import { PatchesStore } from "./patchesStore";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const store = new PatchesStore(sessions);
  const tree = new NodeTree();
  const view = vscode.window.createTreeView("zentracer.patches", {
    treeDataProvider: tree,
    showCollapseAll: false,
  });
  const refresh = (): void => {
    tree.show(patchesTree(store.all()));
    view.badge = patchesBadge(store.all());
  };
  context.subscriptions.push(
    store,
    tree,
    view,
    store.onDidChange(refresh),
    ...new Commands(store).register(),
  );
  refresh();
}

class Commands {
  constructor(private readonly store: PatchesStore) {}

  register(): vscode.Disposable[] {
    const on = (name: string, run: (row: unknown) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`zentracer.${name}`, run);
    return [
      on("undoPatch", (row) => this.swap(row, "Undo", (change) => change.isDone)),
      on("redoPatch", (row) => this.swap(row, "Redo", (change) => !change.isDone)),
      on("undoAllPatches", () => this.undoAll()),
      on("keepPatch", (row) => this.keep(row)),
      on("keepAllPatches", () => keep(this.inForce())),
    ];
  }

  private async swap(
    row: unknown,
    verb: "Undo" | "Redo",
    fits: (change: Change) => boolean,
  ): Promise<void> {
    const change = await this.chosen(row, `${verb} which change?`, (one) => isOpen(one) && fits(one));
    if (!change) return;
    try {
      await this.store.swap(change);
    } catch (error) {
      void vscode.window.showWarningMessage(sentenceOf(error));
    }
  }

  /** Newest first: each then finds its value as it has left it. */
  private async undoAll(): Promise<void> {
    const all = this.store.all().filter((change) => isOpen(change) && change.isDone);
    if (all.length === 0) {
      void vscode.window.showInformationMessage("No change is in force that could be undone.");
      return;
    }
    const problems: string[] = [];
    for (const change of all.toReversed()) {
      await this.store.swap(change).catch((error: unknown) => problems.push(sentenceOf(error)));
    }
    if (problems.length === 0) return;
    const done = `${String(all.length - problems.length)} of ${plural(all.length, "change")} undone.`;
    void vscode.window.showWarningMessage(`${done} ${problems[0] ?? ""}`);
  }

  private async keep(row: unknown): Promise<void> {
    const change = await this.chosen(row, "Keep which change as code?", () => true);
    if (change) await keep([change]);
  }

  /** What is changed now; after the end, what was. */
  private inForce(): readonly Change[] {
    return this.store.all().filter((change) => change.state.status === "applied");
  }

  /** The row of the view, else the one that the user picks. */
  private async chosen(
    row: unknown,
    question: string,
    fits: (change: Change) => boolean,
  ): Promise<Change | undefined> {
    if (typeof row === "string") return this.store.find(row);
    const some = this.store.all().filter(fits).toReversed();
    if (some.length === 0) {
      void vscode.window.showInformationMessage("There is no such change to the program.");
      return undefined;
    }
    const items = some.map((change) => ({
      label: titleOf(change.state),
      description: difference(change.state),
      detail: change.state.where,
      change,
    }));
    const options = { title: "Changes to the program", placeHolder: question };
    return (await vscode.window.showQuickPick(items, options))?.change;
  }
}

function isOpen(change: Change): boolean {
  return change.isLive && change.state.status !== "gone";
}

async function keep(changes: readonly Change[]): Promise<void> {
  const content = patchesCode(changes.map((change) => change.state));
  if (content === "") {
    void vscode.window.showInformationMessage("There is no change in force that a statement does.");
    return;
  }
  await vscode.env.clipboard.writeText(content);
  const open = "Open";
  const chosen = await vscode.window.showInformationMessage(
    "The clipboard has code that does the same at start-up: put it after the model is made.",
    open,
  );
  if (chosen !== open) return;
  const document = await vscode.workspace.openTextDocument({ language: "python", content });
  await vscode.window.showTextDocument(document, { preview: false });
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
