/** Entry point of the extension host. */
import * as vscode from "vscode";
import { Sessions } from "./debug/sessions";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("ZenTracer", { log: true });
  const sessions = new Sessions(log);
  context.subscriptions.push(log, sessions);
}
