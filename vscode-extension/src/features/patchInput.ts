/** Asks for one text of a change; what is wrong with it is said under the line. */
import * as vscode from "vscode";

export interface Question {
  readonly title: string;
  readonly prompt: string;
  readonly placeholder: string;
  readonly value?: string;
  readonly step?: number;
  readonly totalSteps?: number;
  /** What is wrong with what was typed, seen at once. */
  readonly problem?: (typed: string) => string | undefined;
  /** Does something with it; rejects with the reason if that cannot be done. */
  readonly act?: (typed: string) => Promise<void>;
}

/** Returns undefined if the user went away. */
export async function askText(question: Question): Promise<string | undefined> {
  const input = vscode.window.createInputBox();
  input.title = question.title;
  input.prompt = question.prompt;
  input.placeholder = question.placeholder;
  input.value = question.value ?? "";
  input.step = question.step;
  input.totalSteps = question.totalSteps;
  input.ignoreFocusOut = true;
  try {
    return await new Promise((resolve) => {
      input.onDidChangeValue(() => {
        input.validationMessage = undefined;
      });
      input.onDidAccept(() => {
        void accept(input, question).then((isDone) => {
          if (isDone) resolve(input.value.trim());
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

async function accept(input: vscode.InputBox, { problem, act }: Question): Promise<boolean> {
  if (input.busy) return false;
  const typed = input.value.trim();
  input.busy = true;
  let message = problem?.(typed);
  if (message === undefined) {
    await act?.(typed).catch((error: unknown) => {
      message = error instanceof Error ? error.message : String(error);
    });
  }
  input.busy = false;
  input.validationMessage = message;
  return message === undefined;
}
