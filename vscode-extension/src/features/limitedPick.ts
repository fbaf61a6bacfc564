/** A list to pick from, where a button of a row says: with a condition, please. */
import * as vscode from "vscode";

export const LIMITING: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("debug-breakpoint-conditional"),
  tooltip: "With a condition or a hit count…",
};

export interface Picked<T> {
  readonly row: T;
  readonly isLimited: boolean;
}

/**
 * Asks for one of the rows.
 *
 * @param rowsFor makes the rows again for what is typed, where that can be used as it is.
 * @returns undefined if the user went away.
 */
export async function pickLimited<T extends vscode.QuickPickItem>(
  title: string,
  placeholder: string,
  rows: readonly T[],
  rowsFor?: (typed: string) => readonly T[],
): Promise<Picked<T> | undefined> {
  const input = vscode.window.createQuickPick<T>();
  input.title = title;
  input.placeholder = placeholder;
  input.matchOnDescription = true;
  input.matchOnDetail = rowsFor === undefined;
  input.items = rows;
  try {
    return await new Promise((resolve) => {
      input.onDidChangeValue((typed) => {
        if (rowsFor) input.items = rowsFor(typed);
      });
      input.onDidAccept(() => {
        const [row] = input.selectedItems;
        if (row) resolve({ row, isLimited: false });
      });
      input.onDidTriggerItemButton(({ item }) => {
        resolve({ row: item, isLimited: true });
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
