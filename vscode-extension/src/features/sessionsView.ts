/** The Sessions view: what is debugged, what it is doing, and how far it is. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { isToldByLine } from "../pure/stopLine";
import { type RunFacts, type SessionFacts, ended, sessionsTree, withGone } from "../pure/treeSessions";
import { NodeTree } from "./nodeTree";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const tree = new NodeTree();
  const runs = new Runs(sessions);
  const refresh = (): void => {
    tree.show(sessionsTree(runs.now()));
  };
  context.subscriptions.push(
    tree,
    vscode.window.createTreeView("zentracer.sessions", { treeDataProvider: tree }),
    sessions.onDidChange(refresh),
    vscode.commands.registerCommand("zentracer.focusSession", (id: unknown) =>
      typeof id === "string" ? focus(sessions, id) : undefined,
    ),
  );
  refresh();
}

/** Live runs, and those that ended since the last one started. */
class Runs {
  private known = new Map<string, RunFacts>();

  constructor(private readonly sessions: Sessions) {}

  now(): readonly RunFacts[] {
    const all = this.sessions.all();
    const live = all.filter((session) => session.root === session).map((root) => this.factsOf(root, all));
    const isStart = live.some((run) => !this.known.has(run.id));
    const here = new Set(live.map((run) => run.id));
    const over = isStart ? [] : [...this.known.values()].filter((run) => !here.has(run.id)).map(ended);
    const runs = [...live, ...over];
    this.known = new Map(runs.map((run) => [run.id, run]));
    return runs;
  }

  private factsOf(root: ZenSession, all: readonly ZenSession[]): RunFacts {
    const children = all.filter((session) => session.root === root && session !== root);
    const now = {
      ...sessionFacts(root),
      version: root.version,
      processes: root.processes,
      steps: root.steps,
      children: children.map(sessionFacts),
    };
    return withGone(this.known.get(root.debug.id), now);
  }
}

function sessionFacts(session: ZenSession): SessionFacts {
  const { state, stoppedText, told, pid, debug } = session;
  const isSentence = told !== undefined && isToldByLine(told);
  return { id: debug.id, name: debug.name, state, stoppedText, isSentence, pid };
}

/**
 * Makes a session the one that Variables, Call Stack and the toolbar are about.
 *
 * The editor has no call for that; its own command goes from console to console, so it is repeated
 * until the right one is there.
 */
async function focus(sessions: Sessions, id: string): Promise<void> {
  const wanted = sessions.all().find((session) => session.debug.id === id);
  if (!wanted) return;
  for (let turn = 0; turn < sessions.all().length * 2; turn++) {
    if (vscode.debug.activeDebugSession?.id === id) break;
    await vscode.commands.executeCommand("workbench.action.debug.nextConsole");
  }
  if (wanted.state === "stopped") {
    await vscode.commands.executeCommand("workbench.action.debug.callStackTop");
  }
}
