/** Shows what the adapter and the runtime have to say, each sentence once. */
import * as vscode from "vscode";
import type { Log } from "./log";
import type { Sessions } from "./sessions";

export function register(context: vscode.ExtensionContext, sessions: Sessions, log: Log): void {
  const shown = new Set<string>();
  const subscription = sessions.onDidChange(() => {
    for (const session of sessions.all()) {
      for (const notice of session.notices) {
        if (shown.has(notice)) continue;
        shown.add(notice);
        log.channel.warn(notice);
        // The adapter's output of the category “important” is a message already.
        if (!session.heard.has(notice)) void show(notice, log);
      }
    }
  });
  context.subscriptions.push(subscription);
}

async function show(notice: string, log: Log): Promise<void> {
  const open = "Open Log";
  if ((await vscode.window.showWarningMessage(`ZenTracer: ${notice}`, open)) === open) await log.show();
}
