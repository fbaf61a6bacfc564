/** Breakpoints by name in the editor's own list: modules, gradients, operations and steps. */
import * as vscode from "vscode";
import { functionName, isSameNamed, momentOf, type Named, stepsOf } from "../pure/functionBreakpoints";
import { type Operation, operations, typedOperation } from "../pure/operations";
import { askLimits } from "./conditionInput";
import { LIMITING, pickLimited } from "./limitedPick";

export function registerFunctionBreakpoints(): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand("zentracer.breakAtOperation", breakAtOperation),
    vscode.commands.registerCommand("zentracer.breakAtStep", breakAtStep),
  ];
}

/** Sets a breakpoint, after asking for its conditions if that is wanted. */
export async function settleFunction(name: string, isLimited: boolean): Promise<void> {
  const nothing = { condition: null, hitCondition: null };
  // The editor's list says what is wrong with a condition, and has an entry to change it.
  const fine = (): Promise<undefined> => Promise.resolve(undefined);
  const limits = isLimited ? await askLimits(`Break at ${name}`, nothing, fine) : nothing;
  if (limits === undefined) return;
  set({
    functionName: name,
    condition: limits.condition ?? undefined,
    hitCondition: limits.hitCondition ?? undefined,
  });
}

/** Sets or enables a breakpoint; the same one is never there twice. */
function set(wanted: Named): void {
  const same = vscode.debug.breakpoints.filter(
    (one) => one instanceof vscode.FunctionBreakpoint && isSameNamed(one, wanted),
  );
  if (!same.some((one) => one.enabled)) {
    vscode.debug.removeBreakpoints(same); // the API cannot enable one
    const { functionName: name, condition, hitCondition } = wanted;
    vscode.debug.addBreakpoints([
      new vscode.FunctionBreakpoint(name, true, condition, hitCondition),
    ]);
  }
  void tell(wanted);
}

/** The editor's list may be out of sight, or scrolled to its other entries. */
async function tell(wanted: Named): Promise<void> {
  const show = "Show Breakpoints";
  const chosen = await vscode.window.showInformationMessage(`${momentOf(wanted)}.`, show);
  if (chosen !== show) return;
  await vscode.commands.executeCommand("workbench.debug.action.focusBreakpointsView");
}

interface OperationRow extends vscode.QuickPickItem {
  readonly operation: string;
}

async function breakAtOperation(): Promise<void> {
  const known = operations().map(rowOf);
  const picked = await pickLimited<OperationRow>(
    "Break at operation",
    "Part of a name such as softmax, or a glob such as *norm*",
    known,
    (typed) => {
      const own = typedOperation(typed);
      return own === undefined ? known : [typedRow(own), ...known];
    },
  );
  if (picked) await settleFunction(functionName("op", picked.row.operation), picked.isLimited);
}

function rowOf({ label, name, spellings }: Operation): OperationRow {
  return { label, description: spellings, operation: name, buttons: [LIMITING] };
}

function typedRow(name: string): OperationRow {
  const description = /[*?[]/.test(name) ? "all operations that match" : "use as name";
  const icon = new vscode.ThemeIcon("regex");
  return {
    label: name,
    description,
    iconPath: icon,
    alwaysShow: true,
    operation: name,
    buttons: [LIMITING],
  };
}

async function breakAtStep(): Promise<void> {
  const typed = await vscode.window.showInputBox({
    title: "Break at step",
    prompt: "A step's number, or how often to stop. Leave it empty to stop at every step.",
    placeHolder: "120, or every 100",
    validateInput: (text) => {
      const steps = stepsOf(text);
      return typeof steps === "string" ? steps : undefined;
    },
  });
  const steps = typed === undefined ? "" : stepsOf(typed);
  if (typeof steps === "string") return;
  set({ functionName: steps.name, hitCondition: steps.hitCondition });
}
