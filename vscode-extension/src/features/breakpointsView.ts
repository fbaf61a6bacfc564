/** The Tensor Breakpoints view: those of the editor, of the configuration, and those set in it. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { labelOf } from "../pure/breakpointsFilters";
import { withAdded } from "../pure/breakpointsList";
import { breakpointsTree } from "../pure/breakpointsTree";
import { dataTree } from "../pure/dataTree";
import { AddedBreakpoints } from "./addedBreakpoints";
import { type Handle, Handles } from "./breakpointHandles";
import { pickPurpose } from "./breakPurpose";
import { DataBreakpoints } from "./dataBreakpoints";
import { Filters } from "./filters";
import { registerFunctionBreakpoints, settleFunction } from "./functionBreakpoints";
import { pickModule } from "./modulePicker";
import { NodeTree } from "./nodeTree";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const added = new AddedBreakpoints(context.workspaceState, sessions);
  const data = new DataBreakpoints(sessions);
  const filters = new Filters();
  const tree = new NodeTree();
  const view = vscode.window.createTreeView("zentracer.breakpoints", {
    treeDataProvider: tree,
    manageCheckboxStateManually: true,
  });
  const refresh = (): void => {
    const root = sessions.active()?.root;
    const name = (filter: string): string => labelOf(filters.all(), filter);
    tree.show([
      ...breakpointsTree(root?.breakpoints ?? [], added.list(), name, root !== undefined),
      ...dataTree(root?.dataBreakpoints ?? [], (pid) => (root ? processName(root, pid) : "")),
    ]);
    view.message = added.problem();
  };
  const commands = new Commands(added, new Handles(added, data, filters), filters, sessions);
  context.subscriptions.push(
    tree,
    added,
    filters,
    view,
    sessions.onDidChange(refresh),
    added.onDidChange(refresh),
    view.onDidChangeCheckboxState(({ items }) => void commands.tick(items)),
    ...commands.register(),
    ...data.register(),
    ...registerFunctionBreakpoints(),
  );
  refresh();
}

/** Only where there are several, it matters which one. */
function processName(root: ZenSession, pid: number): string {
  const { processes } = root;
  return processes.length > 1 ? (processes.find((one) => one.pid === pid)?.name ?? "") : "";
}

class Commands {
  constructor(
    private readonly added: AddedBreakpoints,
    private readonly handles: Handles,
    private readonly filters: Filters,
    private readonly sessions: Sessions,
  ) {}

  register(): vscode.Disposable[] {
    const on = (name: string, run: (row: unknown) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`zentracer.${name}`, run);
    return [
      on("addTensorBreakpoint", () => this.add()),
      on("pickModule", () => this.addInModule()),
      on("editTensorBreakpoint", (row) => this.with(row, "Edit", (it) => it.edit())),
      on("removeTensorBreakpoint", (row) => this.with(row, "Remove", (it) => it.remove())),
      on("toggleTensorBreakpoint", (row) =>
        this.with(row, "Enable or disable", (it) => it.enable(!it.isEnabled)),
      ),
    ];
  }

  async tick(items: readonly [string, vscode.TreeItemCheckboxState][]): Promise<void> {
    for (const [row, state] of items) {
      await reporting(this.handles.of(row)?.enable(state === vscode.TreeItemCheckboxState.Checked));
    }
  }

  /** What, where, and on which condition; each step can be left as it is. */
  private async add(): Promise<void> {
    const filter = await pickPurpose("Tensor breakpoint: stop on", this.filters.all(), undefined);
    if (filter?.kind !== "exception") return;
    const picked = await pickModule(this.sessions, "any");
    if (!picked) return;
    await this.handles.add({
      filter: filter.filter,
      module: picked.module,
      condition: null,
      enabled: true,
    });
  }

  /** Where, then what to stop for: the module itself, its gradients, or a tensor exception in it. */
  private async addInModule(): Promise<void> {
    const picked = await pickModule(this.sessions, "one");
    const module = picked?.module ?? null;
    if (module === null) return;
    const purpose = await pickPurpose(`Break in ${module}`, this.filters.all(), module);
    if (!purpose) return;
    if (purpose.kind === "function") {
      await settleFunction(purpose.name, purpose.isLimited);
      return;
    }
    const item = { filter: purpose.filter, module, condition: null, enabled: true };
    if (purpose.isLimited) {
      await this.handles.add(item);
      return;
    }
    await this.added.set(withAdded(this.added.list(), item));
    await vscode.commands.executeCommand("zentracer.breakpoints.focus");
  }

  private async with(
    row: unknown,
    what: string,
    act: (handle: Handle) => Promise<void>,
  ): Promise<void> {
    const handle =
      typeof row === "string" ? this.handles.of(row) : await this.pick(`${what} which tensor breakpoint?`);
    if (handle) await reporting(act(handle));
  }

  /** The breakpoint that the user picks when called from the palette. */
  private async pick(question: string): Promise<Handle | undefined> {
    const all = this.handles.all();
    if (all.length === 0) {
      void vscode.window.showInformationMessage(
        "No tensor breakpoint was added here. Those of the editor are in the Breakpoints view of Run and Debug.",
      );
      return undefined;
    }
    const rows = all.map((handle) => ({
      label: handle.title,
      description: [handle.isEnabled ? "" : "disabled", handle.details].filter(Boolean).join(" · "),
      handle,
    }));
    const options = { title: "Tensor breakpoint", placeHolder: question };
    return (await vscode.window.showQuickPick(rows, options))?.handle;
  }
}

/** Says why a change was not made: its process may just have ended. */
async function reporting(change: Promise<void> | undefined): Promise<void> {
  try {
    await change;
  } catch (error) {
    void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
  }
}
