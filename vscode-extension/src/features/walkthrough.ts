/** The walkthrough “Find the line that makes the first NaN”. */
import * as vscode from "vscode";

export function register(context: vscode.ExtensionContext): void {
  const id = `${context.extension.id}#zentracer.start`;
  context.subscriptions.push(
    vscode.commands.registerCommand("zentracer.openWalkthrough", () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", id, false),
    ),
  );
}
