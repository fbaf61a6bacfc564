/** One debug session: what passed by, and what its adapter told. */
import type * as vscode from "vscode";
import { type EventName, readEvent } from "../pure/guards";
import { RunState, type State, type ToldStop } from "../pure/runState";
import type {
  DataBreakpointState,
  Finding,
  PatchState,
  Process,
  StepSeen,
  TensorBreakpointState,
} from "../wire/generated";
import type { ZenSession } from "./sessions";

export class Session implements ZenSession {
  readonly run = new RunState();
  readonly root: Session;
  processes: readonly Process[] = [];
  breakpoints: readonly TensorBreakpointState[] = [];
  dataBreakpoints: readonly DataBreakpointState[] = [];
  findings: readonly Finding[] = [];
  patches: ReadonlyMap<number, readonly PatchState[]> = new Map();
  readonly steps = new Map<number, StepSeen>();
  notices: readonly string[] = [];
  readonly heard = new Set<string>();
  eagerOffer: string | undefined;

  constructor(
    readonly debug: vscode.DebugSession,
    parent: Session | undefined,
  ) {
    this.root = parent?.root ?? this;
  }

  get isOurs(): boolean {
    return this.run.handshake !== undefined;
  }

  get version(): string | undefined {
    return this.run.handshake?.version;
  }

  get pid(): number | undefined {
    const given: unknown = this.debug.configuration["subProcessId"];
    return typeof given === "number" ? given : this.run.pid;
  }

  get state(): State {
    return this.run.state;
  }

  get stoppedText(): string | undefined {
    return this.run.stoppedText;
  }

  get told(): ToldStop | undefined {
    return this.run.told;
  }

  /** Takes one message from the adapter; returns whether a thread has just stopped. */
  observe(message: unknown): boolean {
    const before = this.run.pid;
    const stops = this.run.observe(message);
    // Started again: steps and changes are those of processes that are gone.
    if (before !== undefined && before !== this.run.pid) {
      this.steps.clear();
      this.patches = new Map();
    }
    return stops;
  }

  /** Takes an event about the whole run. @throws Mismatch */
  receive(name: EventName, body: unknown): void {
    switch (name) {
      case "breakpoints":
        this.breakpoints = readEvent(name, body).breakpoints;
        return;
      case "data_breakpoints":
        this.dataBreakpoints = readEvent(name, body).breakpoints;
        return;
      case "findings":
        this.findings = readEvent(name, body).findings;
        return;
      case "patches": {
        const { pid, patches } = readEvent(name, body);
        if (pid !== null) this.patches = new Map([...this.patches, [pid, patches]]);
        return;
      }
      case "processes":
        this.processes = readEvent(name, body).processes;
        return;
      case "eager_offer":
        this.eagerOffer = readEvent(name, body).message;
        return;
      case "notice": {
        const { message } = readEvent(name, body);
        this.heard.add(message);
        this.addNotice(message);
        return;
      }
      case "step": {
        const step = readEvent(name, body);
        this.steps.set(step.pid, step);
        return;
      }
    }
  }

  addNotice(message: string): void {
    if (!this.notices.includes(message)) this.notices = [...this.notices, message];
  }
}
