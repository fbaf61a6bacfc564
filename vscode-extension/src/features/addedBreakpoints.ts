/** The breakpoints added in our view: kept for the workspace, and sent to every run whole. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { type Added, asRequest, readStored, stateOf } from "../pure/breakpointsList";
import type { TensorBreakpointState } from "../wire/generated";

const STORED = "zentracer.tensorBreakpoints";

export class AddedBreakpoints implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly listening: vscode.Disposable;
  private current: readonly Added[];
  /** Runs that have been given the list. */
  private readonly given = new Set<string>();
  /** What each run answered last; its event may come later. */
  private readonly answers = new Map<string, readonly TensorBreakpointState[]>();
  private failure: string | undefined;

  readonly onDidChange = this.changed.event;

  constructor(
    private readonly memory: vscode.Memento,
    private readonly sessions: Sessions,
  ) {
    this.current = readStored(memory.get(STORED));
    this.listening = sessions.onDidChange(() => {
      this.greet();
    });
    this.greet();
  }

  list(): readonly Added[] {
    return this.current;
  }

  /** Why a run did not take the list, if one did not. */
  problem(): string | undefined {
    return this.failure;
  }

  /** Keeps the list and gives it to all runs; settles when they have answered. */
  async set(list: readonly Added[]): Promise<void> {
    this.current = list;
    this.changed.fire();
    await Promise.all([this.memory.update(STORED, list), ...this.roots().map((root) => this.give(root))]);
  }

  /** Why the program that the user looks at does not take one of the list, if it does not. */
  refusal(item: Added): string | undefined {
    const root = this.sessions.active()?.root;
    if (!root || root.processes.length === 0) return undefined; // nobody there to say so yet
    const state = stateOf(this.answers.get(root.debug.id) ?? root.breakpoints, item);
    return state && state.enabled && !state.verified ? (state.message ?? undefined) : undefined;
  }

  dispose(): void {
    this.listening.dispose();
    this.changed.dispose();
  }

  private roots(): readonly ZenSession[] {
    return this.sessions.all().filter((session) => session.root === session && session.isOurs);
  }

  /** Gives the list to runs as soon as they are known to be ours. */
  private greet(): void {
    const roots = this.roots();
    const here = new Set(roots.map((root) => root.debug.id));
    for (const id of this.given) if (!here.has(id)) this.forget(id);
    if (roots.length === 0) this.failure = undefined;
    for (const root of roots) {
      if (!this.given.has(root.debug.id) && this.current.length > 0) void this.give(root);
    }
  }

  private forget(id: string): void {
    this.given.delete(id);
    this.answers.delete(id);
  }

  private async give(root: ZenSession): Promise<void> {
    const { id } = root.debug;
    this.given.add(id);
    try {
      const answer = await this.sessions.request(root, "set_tensor_breakpoints", asRequest(this.current));
      this.answers.set(id, answer.breakpoints);
      this.failure = undefined;
    } catch (error) {
      this.answers.delete(id);
      // A run that ended meanwhile needs no breakpoints.
      this.failure = root.state === "ended" ? undefined : String(error instanceof Error ? error.message : error);
    }
    this.changed.fire();
  }
}
