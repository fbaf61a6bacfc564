/** What was found, kept between the sessions' messages and shared by all that show it. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { FindingsLog, type Item } from "../pure/findingsLog";

const stores = new WeakMap<Sessions, FindingsStore>();

/** The one store of these sessions. */
export function findingsOf(context: vscode.ExtensionContext, sessions: Sessions): FindingsStore {
  const known = stores.get(sessions);
  if (known) return known;
  const made = new FindingsStore(sessions);
  stores.set(sessions, made);
  context.subscriptions.push(made);
  return made;
}

export class FindingsStore implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly log = new FindingsLog();
  private readonly listening: vscode.Disposable;
  private shown: readonly Item[] = [];
  private shownText = "[]";

  readonly onDidChange = this.changed.event;

  constructor(private readonly sessions: Sessions) {
    this.listening = sessions.onDidChange(() => {
      this.take();
    });
    this.take();
  }

  items(): readonly Item[] {
    return this.shown;
  }

  find(key: string): Item | undefined {
    return this.shown.find((item) => item.key === key);
  }

  clear(): void {
    this.log.clear();
    this.publish();
  }

  dispose(): void {
    this.listening.dispose();
    this.changed.dispose();
  }

  private take(): void {
    const roots = this.sessions.all().filter((session) => session.root === session);
    this.log.endAllBut(new Set(roots.map((root) => root.debug.id)));
    for (const root of roots) this.log.update(root.debug.id, root.debug.name, root.findings);
    this.publish();
  }

  /** Steps come ten times a second; only other findings are news here. */
  private publish(): void {
    const items = this.log.items();
    const text = JSON.stringify(items);
    if (text === this.shownText) return;
    this.shown = items;
    this.shownText = text;
    this.changed.fire();
  }
}
