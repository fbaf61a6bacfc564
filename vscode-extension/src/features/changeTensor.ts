/** “Change Tensor…”: from Variables, Watch, the Tensor panel and the palette to a change with undo. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { isRecord } from "../pure/guards";
import { inspected } from "../pure/inspectArgument";
import {
  PATCH_OPERATIONS,
  type PatchOperation,
  sliceOf,
  sliceProblem,
  valueProblem,
} from "../pure/patchOperations";
import { difference } from "../pure/patchesTree";
import type { ApplyPatch, PatchState } from "../wire/generated";
import { expressionInEditor } from "./inspectTensor";
import { askText } from "./patchInput";
import { refuse } from "./patchesStore";

/** Where a change is made: a session, and the frame that expressions are written for. */
interface Where {
  readonly session: ZenSession;
  readonly frame_id: number | null;
}

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  context.subscriptions.push(
    vscode.commands.registerCommand("zentracer.changeTensor", (argument: unknown) =>
      change(sessions, argument),
    ),
  );
}

async function change(sessions: Sessions, argument: unknown): Promise<void> {
  const where = placeOf(sessions, argument);
  if (!where) {
    void vscode.window.showInformationMessage(
      "No program is being debugged: start one, and stop it where it is to be changed.",
    );
    return;
  }
  const target = await targetOf(argument);
  if (target === undefined) return;
  const operation = await pickOperation(target);
  if (!operation) return;
  const made = await askAndApply(sessions, where, target, operation);
  if (made) await tell(sessions, where.session, made);
}

/** The Tensor panel says which frame it looks into; else it is the one that the user looks at. */
function placeOf(sessions: Sessions, argument: unknown): Where | undefined {
  const { sessionId, frameId } = isRecord(argument) ? argument : {};
  const named = sessions.all().find((session) => session.debug.id === sessionId);
  if (named) return { session: named, frame_id: typeof frameId === "number" ? frameId : null };
  const item = vscode.debug.activeStackItem;
  const session = sessions.of(item?.session) ?? sessions.active();
  return session && { session, frame_id: item && "frameId" in item ? item.frameId : null };
}

async function targetOf(argument: unknown): Promise<string | undefined> {
  const found = inspected(argument);
  if (found.from === "expression") return found.expression;
  const typed = await askText({
    title: "Change Tensor",
    prompt: "A tensor as the stopped frame calls it, or a name such as encoder.fc.weight.",
    placeholder: "model.fc.weight",
    value: found.from === "nameless" ? found.name : (expressionInEditor() ?? ""),
    problem: (text) => (text === "" ? "Say which tensor, for example model.fc.weight." : undefined),
  });
  return typed;
}

async function pickOperation(target: string): Promise<PatchOperation | undefined> {
  const rows = PATCH_OPERATIONS.map((operation) => ({
    label: operation.label,
    description: operation.detail,
    operation,
  }));
  const options = { title: `Change ${target}`, placeHolder: "What should be done?", matchOnDescription: true };
  return (await vscode.window.showQuickPick(rows, options))?.operation;
}

/** The part, then the value; the last answer makes the change, and a refusal is said below it. */
async function askAndApply(
  sessions: Sessions,
  where: Where,
  target: string,
  operation: PatchOperation,
): Promise<PatchState | undefined> {
  const title = `${operation.label}: ${target}`;
  const { value, hasSlice } = operation;
  const totalSteps = Number(hasSlice) + Number(value !== undefined);
  let made: PatchState | undefined;
  const apply = async (more: Pick<ApplyPatch, "slice" | "value">): Promise<void> => {
    const { session, frame_id } = where;
    made = await sessions.request(session, "apply_patch", { target, op: operation.op, frame_id, ...more });
    refuse(made);
  };
  let slice: string | null = null;
  if (hasSlice) {
    const typed = await askText({
      title,
      prompt: "Which part, as between brackets; empty for all of it.",
      placeholder: "0, 3:5",
      step: 1,
      totalSteps,
      problem: sliceProblem,
      ...(!value && { act: (text: string) => apply({ slice: sliceOf(text) }) }),
    });
    if (typed === undefined) return undefined;
    slice = sliceOf(typed);
  }
  if (!value) {
    if (!hasSlice) await apply({});
    return made;
  }
  await askText({
    title: slice === null ? title : `${title}[${slice}]`,
    prompt: value.prompt,
    placeholder: value.example,
    step: totalSteps,
    totalSteps,
    problem: (text) => valueProblem(operation, text),
    act: (text) => apply({ slice, value: text }),
  });
  return made;
}

/** What was done, with the way back. */
async function tell(sessions: Sessions, session: ZenSession, made: PatchState): Promise<void> {
  const told = [`${made.target} ${made.text}`, difference(made), ...made.notes].filter(Boolean);
  const [undo, show] = ["Undo", "Show Changes"];
  const chosen = await vscode.window.showInformationMessage(`${told.join("; ")}.`, undo, show);
  if (chosen === show) await vscode.commands.executeCommand("zentracer.patches.focus");
  if (chosen !== undo) return;
  try {
    refuse(await sessions.request(session, "undo_patch", { patch_id: made.patch_id }));
  } catch (error) {
    void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
  }
}
