/** The Tensor Breakpoints view: those of the editor, of the configuration, and those added here. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { FIRST_FILTERS, type Filter, labelOf, offeredFilters } from "../pure/breakpointsFilters";
import {
  type Added,
  keyOf,
  withAdded,
  withEnabled,
  withReplaced,
  withoutKey,
} from "../pure/breakpointsList";
import { breakpointsTree, keyOfRow, titleOf } from "../pure/breakpointsTree";
import { AddedBreakpoints } from "./addedBreakpoints";
import { askCondition } from "./conditionInput";
import { pickModule } from "./modulePicker";
import { NodeTree } from "./nodeTree";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const added = new AddedBreakpoints(context.workspaceState, sessions);
  const filters = new Filters();
  const tree = new NodeTree();
  const view = vscode.window.createTreeView("zentracer.breakpoints", {
    treeDataProvider: tree,
    manageCheckboxStateManually: true,
  });
  const refresh = (): void => {
    const root = sessions.active()?.root;
    const name = (filter: string): string => labelOf(filters.all(), filter);
    tree.show(breakpointsTree(root?.breakpoints ?? [], added.list(), name, root !== undefined));
    view.message = added.problem();
  };
  const commands = new Commands(added, filters, sessions);
  context.subscriptions.push(
    tree,
    added,
    filters,
    view,
    sessions.onDidChange(refresh),
    added.onDidChange(refresh),
    view.onDidChangeCheckboxState(({ items }) => void commands.tick(items)),
    ...commands.register(),
  );
  refresh();
}

/** What the adapters in use offer. */
class Filters implements vscode.Disposable {
  private known = FIRST_FILTERS;
  private readonly tracking = vscode.debug.registerDebugAdapterTrackerFactory("*", {
    createDebugAdapterTracker: () => ({
      onDidSendMessage: (message: unknown) => {
        this.known = offeredFilters(message) ?? this.known;
      },
    }),
  });

  all(): readonly Filter[] {
    return this.known;
  }

  dispose(): void {
    this.tracking.dispose();
  }
}

class Commands {
  constructor(
    private readonly added: AddedBreakpoints,
    private readonly filters: Filters,
    private readonly sessions: Sessions,
  ) {}

  register(): vscode.Disposable[] {
    const on = (name: string, run: (row: unknown) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`zentracer.${name}`, run);
    return [
      on("addTensorBreakpoint", () => this.add()),
      on("pickModule", () => this.addInModule()),
      on("editTensorBreakpoint", (row) => this.edit(row)),
      on("removeTensorBreakpoint", (row) => this.remove(row)),
      on("toggleTensorBreakpoint", (row) => this.toggle(row)),
    ];
  }

  async tick(items: readonly [string, vscode.TreeItemCheckboxState][]): Promise<void> {
    let list = this.added.list();
    for (const [row, state] of items) {
      const key = keyOfRow(row);
      if (key !== undefined) list = withEnabled(list, key, state === vscode.TreeItemCheckboxState.Checked);
    }
    await this.added.set(list);
  }

  /** What, where, and on which condition; each step can be left as it is. */
  private async add(): Promise<void> {
    const filter = await this.pickFilter();
    const picked = filter && (await pickModule(this.sessions, "any"));
    if (!picked) return;
    const item = { filter: filter.id, module: picked.module, condition: null, enabled: true };
    await this.settle(item, this.added.list(), (list, next) => withAdded(list, next));
  }

  private async addInModule(): Promise<void> {
    const picked = await pickModule(this.sessions, "one");
    const filter = picked && (await this.pickFilter());
    if (!filter) return;
    const item = { filter: filter.id, module: picked.module, condition: null, enabled: true };
    await this.added.set(withAdded(this.added.list(), item));
    await vscode.commands.executeCommand("zentracer.breakpoints.focus");
  }

  private async edit(row: unknown): Promise<void> {
    const item = await this.chosen(row, "Edit which tensor breakpoint?");
    if (!item) return;
    const key = keyOf(item);
    await this.settle(item, this.added.list(), (list, next) => withReplaced(list, key, next));
  }

  private async remove(row: unknown): Promise<void> {
    const item = await this.chosen(row, "Remove which tensor breakpoint?");
    if (item) await this.added.set(withoutKey(this.added.list(), keyOf(item)));
  }

  private async toggle(row: unknown): Promise<void> {
    const item = await this.chosen(row, "Enable or disable which tensor breakpoint?");
    if (item) await this.added.set(withEnabled(this.added.list(), keyOf(item), !item.enabled));
  }

  /** Asks for the condition, tries it in the running program, and goes back if the user does. */
  private async settle(
    item: Added,
    before: readonly Added[],
    place: (list: readonly Added[], next: Added) => readonly Added[],
  ): Promise<void> {
    const check = async (condition: string | null): Promise<string | undefined> => {
      const next = { ...item, condition };
      await this.added.set(place(before, next));
      return this.added.refusal(next);
    };
    const title = `Condition of “${titleOf({ ...item, label: labelOf(this.filters.all(), item.filter) })}”`;
    const condition = await askCondition(title, item.condition, check);
    if (condition === undefined && this.added.list() !== before) await this.added.set(before);
    if (condition !== undefined) await vscode.commands.executeCommand("zentracer.breakpoints.focus");
  }

  private async pickFilter(): Promise<Filter | undefined> {
    const all = this.filters.all();
    if (all.length <= 1) return all[0];
    const rows = all.map((filter) => ({ label: filter.label, detail: filter.description, filter }));
    const title = "Tensor breakpoint: stop on";
    return (await vscode.window.showQuickPick(rows, { title, matchOnDetail: true }))?.filter;
  }

  /** The row's breakpoint, or the one that the user picks when called from the palette. */
  private async chosen(row: unknown, question: string): Promise<Added | undefined> {
    const list = this.added.list();
    const key = typeof row === "string" ? keyOfRow(row) : undefined;
    if (key !== undefined) return list.find((item) => keyOf(item) === key);
    if (list.length === 0) {
      void vscode.window.showInformationMessage(
        "No tensor breakpoint was added here. Those of the editor are in the Breakpoints view of Run and Debug.",
      );
      return undefined;
    }
    const rows = list.map((item) => ({
      label: titleOf({ ...item, label: labelOf(this.filters.all(), item.filter) }),
      description: [item.enabled ? "" : "disabled", item.condition ?? ""].filter(Boolean).join(" · "),
      item,
    }));
    return (await vscode.window.showQuickPick(rows, { title: "Tensor breakpoint", placeHolder: question }))?.item;
  }
}
