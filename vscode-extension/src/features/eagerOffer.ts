/** Offers, once a session, to run compiled code eagerly so that breakpoints in it are hit. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { COMPILE_AGAIN, NOT_NOW, RUN_EAGERLY, offerOf, outcomeOf } from "../pure/eagerOffer";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const offered = new WeakSet<vscode.DebugSession>();
  const subscription = sessions.onDidChange(() => {
    for (const session of sessions.all()) {
      const { eagerOffer: message, debug } = session;
      if (message === undefined || offered.has(debug)) continue;
      offered.add(debug);
      void offer(sessions, session, message);
    }
  });
  context.subscriptions.push(subscription);
}

async function offer(sessions: Sessions, session: ZenSession, message: string): Promise<void> {
  const chosen = await vscode.window.showInformationMessage(offerOf(message), RUN_EAGERLY, NOT_NOW);
  if (chosen === RUN_EAGERLY) await run(sessions, session, true);
}

async function run(sessions: Sessions, session: ZenSession, eager: boolean): Promise<void> {
  try {
    const answer = await sessions.request(session, "run_eagerly", { eager });
    const undo = answer.eager ? [COMPILE_AGAIN] : [];
    const chosen = await vscode.window.showInformationMessage(outcomeOf(answer), ...undo);
    if (chosen === COMPILE_AGAIN) await run(sessions, session, false);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(`ZenTracer: ${why}`);
  }
}
