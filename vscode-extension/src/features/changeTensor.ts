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

/** Makes a change; rejects with a sentence. */
type Apply = (patch: ApplyPatch) => Promise<PatchState>;

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
  const { session, frame_id } = where;
  const apply: Apply = async (patch) => {
    const made = await sessions.request(session, "apply_patch", { ...patch, frame_id });
    refuse(made);
    return made;
  };
  try {
    const made = await askAndApply(apply, target, operation);
    if (made) await tell(sessions, session, made);
  } catch (error) {
    void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
  }
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
    prompt: "A tensor, a module or a number such as a learning rate, as the stopped frame calls it.",
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
  apply: Apply,
  target: string,
  operation: PatchOperation,
): Promise<PatchState | undefined> {
  const { value, hasSlice, label } = operation;
  const totalSteps = Number(hasSlice) + Number(value !== undefined);
  let made: PatchState | undefined;
  const act = async (more: Pick<ApplyPatch, "slice" | "value">): Promise<void> => {
    made = await apply({ target, op: operation.op, ...more });
  };
  const slice = hasSlice ? await askSlice(`${label}: ${target}`, totalSteps, value ? undefined : act) : null;
  if (slice === undefined) return undefined;
  if (value) {
    const title = `${label}: ${target}${slice === null ? "" : `[${slice}]`}`;
    await askText({
      title,
      prompt: value.prompt,
      placeholder: value.example,
      ...(value.endings && { value: await pickFile(title, value.endings) }),
      step: totalSteps,
      totalSteps,
      problem: (text) => valueProblem(operation, text),
      act: (text) => act({ slice, value: text || null }),
    });
  } else if (!hasSlice) await act({});
  return made;
}

/** Returns null for all of it, undefined if the user went away. */
async function askSlice(
  title: string,
  totalSteps: number,
  act: ((more: { slice: string | null }) => Promise<void>) | undefined,
): Promise<string | null | undefined> {
  const typed = await askText({
    title,
    prompt: "Which part, as between brackets; empty for all of it.",
    placeholder: "0, 3:5",
    step: 1,
    totalSteps,
    problem: sliceProblem,
    ...(act && { act: (text: string) => act({ slice: sliceOf(text) }) }),
  });
  return typed === undefined ? undefined : sliceOf(typed);
}

/** The path is shown before anything is changed, and can be edited there. */
async function pickFile(title: string, endings: readonly string[]): Promise<string> {
  const filters = { Checkpoints: [...endings], "All files": ["*"] };
  const picked = await vscode.window.showOpenDialog({ title, filters, openLabel: "Load" });
  return picked?.[0]?.fsPath ?? "";
}

/** What was done, with the way back. */
async function tell(sessions: Sessions, session: ZenSession, made: PatchState): Promise<void> {
  const told = [`${made.target} ${made.text}`, difference(made), ...made.notes].filter(Boolean);
  const message = [`${told.join("; ")}.`, made.message ?? ""].join(" ").trim();
  const [undo, show] = ["Undo", "Show Changes"];
  const chosen = await vscode.window.showInformationMessage(message, undo, show);
  if (chosen === show) await vscode.commands.executeCommand("zentracer.patches.focus");
  if (chosen !== undo) return;
  refuse(await sessions.request(session, "undo_patch", { patch_id: made.patch_id }));
}
