/** Changes to running programs; those of an ended session stay until the next one starts. */
import type { PatchState } from "../wire/generated";

export interface Change {
  /** Stays the same from one message of the adapter to the next. */
  readonly key: string;
  readonly sessionId: string;
  readonly pid: number;
  /** Whose change it is, as a person would call the session and the process. */
  readonly owner: string;
  readonly state: PatchState;
  /** Whether its program can still be changed. */
  readonly isLive: boolean;
  /** Whether it was in force when that was last known: then it can be undone, else done again. */
  readonly isDone: boolean;
}

/** What is known of one session: its changes by process, and what its processes are called. */
export interface Changed {
  readonly id: string;
  readonly name: string;
  readonly patches: ReadonlyMap<number, readonly PatchState[]>;
  readonly processName: (pid: number) => string;
}

export class PatchesLog {
  private lists = new Map<string, readonly Change[]>();
  private live = new Set<string>();

  /** Takes what all live sessions say now. */
  update(sessions: readonly Changed[]): void {
    const isStart = sessions.some((session) => !this.live.has(session.id));
    this.live = new Set(sessions.map((session) => session.id));
    const ended = isStart ? [] : [...this.lists].filter(([id]) => !this.live.has(id));
    this.lists = new Map([
      ...ended.map(([id, list]) => [id, list.map((change) => ({ ...change, isLive: false }))] as const),
      ...sessions.map((session) => [session.id, this.changesOf(session)] as const),
    ]);
  }

  /** Oldest first, one process after the other. */
  changes(): readonly Change[] {
    return [...this.lists.values()].flat();
  }

  private changesOf({ id, name, patches, processName }: Changed): readonly Change[] {
    const before = new Map(this.lists.get(id)?.map((change) => [change.key, change]));
    return [...patches].flatMap(([pid, list]) =>
      list.map((state): Change => {
        const key = `patch:${id}:${String(pid)}:${String(state.patch_id)}`;
        const isDone = doneIn(state, before.get(key));
        const owner = [name, processName(pid)].filter(Boolean).join(" · ");
        return { key, sessionId: id, pid, owner, state, isLive: true, isDone };
      }),
    );
  }
}

/** An undo or redo that could not be made leaves it as it was. */
function doneIn({ status }: PatchState, before: Change | undefined): boolean {
  if (status === "applied") return true;
  return status === "undone" ? false : (before?.isDone ?? true);
}
