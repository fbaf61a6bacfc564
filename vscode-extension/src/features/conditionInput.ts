/** Asks for a condition; one that the program refuses is said under the line, before it is kept. */
import * as vscode from "vscode";
import { text } from "../pure/breakpointsList";

/**
 * @param check arms the condition and returns why it is not active, if it is not.
 * @returns null for no condition; undefined if the user went away.
 */
export async function askCondition(
  title: string,
  initial: string | null,
  check: (condition: string | null) => Promise<string | undefined>,
): Promise<string | null | undefined> {
  const input = vscode.window.createInputBox();
  input.title = title;
  input.value = initial ?? "";
  input.placeholder = "step > 10 and phase == \"backward\"";
  input.prompt = "Stop only if this is true (Python). Leave it empty to stop every time.";
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
