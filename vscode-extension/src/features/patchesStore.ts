/** Changes to the programs, kept between the sessions' messages, and undo and redo of them. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { type Change, PatchesLog } from "../pure/patchesLog";
import type { PatchState } from "../wire/generated";

export class PatchesStore implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly log = new PatchesLog();
  private readonly listening: vscode.Disposable;
  private shown: readonly Change[] = [];
  private shownText = "[]";

  readonly onDidChange = this.changed.event;

  constructor(private readonly sessions: Sessions) {
    this.listening = sessions.onDidChange(() => {
      this.take();
    });
    this.take();
  }

  /** Oldest first, one process after the other. */
  all(): readonly Change[] {
    return this.shown;
  }

  find(key: string): Change | undefined {
    return this.shown.find((change) => change.key === key);
  }

  /**
   * Undoes a change that is in force, or does it again.
   *
   * Rejects with an Error whose message is a sentence, also where the value has moved on since.
   */
  async swap(change: Change): Promise<void> {
    const session = this.sessionOf(change);
    const name = change.isDone ? "undo_patch" : "redo_patch";
    refuse(await this.sessions.request(session, name, { patch_id: change.state.patch_id }));
  }

  dispose(): void {
    this.listening.dispose();
    this.changed.dispose();
  }

  private sessionOf({ sessionId, pid }: Change): ZenSession {
    const run = this.sessions.all().filter((session) => session.root.debug.id === sessionId);
    const session = run.find((one) => one.pid === pid) ?? run.find((one) => one.root === one);
    if (!session) throw new Error("The program of this change has ended.");
    return session;
  }

  private take(): void {
    const roots = this.sessions.all().filter((session) => session.root === session);
    this.log.update(
      roots.map((root) => ({
        id: root.debug.id,
        name: root.debug.name,
        patches: root.patches,
        processName: (pid) => root.processes.find((process) => process.pid === pid)?.name ?? "",
      })),
    );
    this.publish();
  }

  /** Steps come ten times a second; only other changes are news here. */
  private publish(): void {
    const changes = this.log.changes();
    const text = JSON.stringify(changes);
    if (text === this.shownText) return;
    this.shown = changes;
    this.shownText = text;
    this.changed.fire();
  }
}

/** An undo that could not be made is answered with the change as it is, and the reason. */
export function refuse({ status, message }: PatchState): void {
  if (status === "out_of_sync" || status === "gone") throw new Error(message ?? "It was left as it is.");
}
