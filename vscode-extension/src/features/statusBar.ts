/** The status bar's entry of the active session. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { type Status, type StatusFacts, statusOf } from "../pure/statusBar";
import { type FindingsStore, findingsOf } from "./findingsStore";

const PRIORITY = 20;

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const store = findingsOf(context, sessions);
  const item = vscode.window.createStatusBarItem("zentracer.status", vscode.StatusBarAlignment.Left, PRIORITY);
  item.name = "ZenTracer";
  item.command = { command: "workbench.view.extension.zentracer", title: "Open the ZenTracer view" };
  let shown = "";
  const refresh = (): void => {
    const session = sessions.active();
    const status = session && statusOf(factsOf(session, store));
    const text = JSON.stringify(status ?? null);
    if (text === shown) return;
    shown = text;
    if (status) show(item, status);
    else item.hide();
  };
  context.subscriptions.push(item, sessions.onDidChange(refresh), store.onDidChange(refresh));
  refresh();
}

function factsOf(session: ZenSession, store: FindingsStore): StatusFacts {
  const { root } = session;
  return {
    name: session.debug.name,
    state: session.state,
    pid: session.pid,
    isRoot: root === session,
    processes: root.processes,
    steps: root.steps,
    breakpoints: root.breakpoints,
    notices: root.notices,
    findings: store.items().filter((item) => item.sessionId === root.debug.id).length,
  };
}

function show(item: vscode.StatusBarItem, status: Status): void {
  item.text = status.text;
  item.tooltip = new vscode.MarkdownString(status.tooltip, true);
  item.accessibilityInformation = { label: status.spoken };
  item.backgroundColor = status.isWarning
    ? new vscode.ThemeColor("statusBarItem.warningBackground")
    : undefined;
  item.show();
}
