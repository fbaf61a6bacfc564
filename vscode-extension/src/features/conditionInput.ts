/** Asks for conditions; one that the program refuses is said under the line, before it is kept. */
import * as vscode from "vscode";
import { text } from "../pure/breakpointsList";

/** When a breakpoint stops: null for what is not limited. */
export interface Limits {
  readonly condition: string | null;
  readonly hitCondition: string | null;
}

/** Arms something and returns why it is not active, if it is not. */
type Check<T> = (wanted: T) => Promise<string | undefined>;

/**
 * @param check arms the condition.
 * @returns null for no condition; undefined if the user went away.
 */
export async function askCondition(
  title: string,
  initial: string | null,
  check: Check<string | null>,
): Promise<string | null | undefined> {
  return ask(conditionInput(title, initial), check);
}

/**
 * Asks for a condition, then for a hit count.
 *
 * @param check arms both.
 * @returns undefined if the user went away.
 */
export async function askLimits(
  title: string,
  initial: Limits,
  check: Check<Limits>,
): Promise<Limits | undefined> {
  const steps = (step: number): Partial<vscode.InputBox> => ({ step, totalSteps: 2 });
  const first = Object.assign(conditionInput(title, initial.condition), steps(1));
  const condition = await ask(first, (typed) => check({ ...initial, condition: typed }));
  if (condition === undefined) return undefined;
  const second = Object.assign(hitsInput(title, initial.hitCondition), steps(2));
  const hitCondition = await ask(second, (typed) => check({ condition, hitCondition: typed }));
  return hitCondition === undefined ? undefined : { condition, hitCondition };
}

function conditionInput(title: string, initial: string | null): vscode.InputBox {
  const input = vscode.window.createInputBox();
  input.title = title;
  input.value = initial ?? "";
  input.placeholder = 'step > 10 and phase == "backward"';
  input.prompt = "Stop only if this is true (Python). Leave it empty to stop every time.";
  return input;
}

function hitsInput(title: string, initial: string | null): vscode.InputBox {
  const input = vscode.window.createInputBox();
  input.title = title;
  input.value = initial ?? "";
  input.placeholder = ">= 5, % 5 (every fifth hit), every 10 steps, every 2 s";
  input.prompt = "At which hits to stop. Leave it empty to stop at all of them.";
  return input;
}

async function ask(
  input: vscode.InputBox,
  check: Check<string | null>,
): Promise<string | null | undefined> {
  input.ignoreFocusOut = true;
  let refused: string | undefined;
  const accept = async (): Promise<boolean> => {
    const typed = input.value;
    if (typed === refused) return true;
    input.busy = true;
    const problem = await check(text(typed));
    input.busy = false;
    if (problem === undefined) return true;
    refused = typed;
    input.validationMessage = {
      message: `${problem} Enter again keeps it as it is.`,
      severity: vscode.InputBoxValidationSeverity.Error,
    };
    return false;
  };
  try {
    return await new Promise((resolve) => {
      input.onDidChangeValue(() => {
        input.validationMessage = undefined;
      });
      input.onDidAccept(() => {
        void accept().then((isDone) => {
          if (isDone) resolve(text(input.value));
        });
      });
      input.onDidHide(() => {
        resolve(undefined);
      });
      input.show();
    });
  } finally {
    input.dispose();
  }
}
