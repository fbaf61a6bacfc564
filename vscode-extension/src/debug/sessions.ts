/** The debug sessions that ZenTracer takes part in, and what their adapters told about them. */
import * as vscode from "vscode";
import { type EventName, isEventName, readAnswer } from "../pure/guards";
import { OncePerFrame } from "../pure/frames";
import { protocolMismatch } from "../pure/protocol";
import type { State, ToldStop } from "../pure/runState";
import type {
  DataBreakpointState,
  Finding,
  Messages,
  PatchState,
  Process,
  StepSeen,
  TensorBreakpointState,
} from "../wire/generated";
import { Session } from "./session";

/** A debug session as features see it. Its lists stay what they were when it ended. */
export interface ZenSession {
  readonly debug: vscode.DebugSession;
  /** The session of the program itself; ranks and workers are below it. */
  readonly root: ZenSession;
  /** Whether its adapter is ours, under whichever debug type it was started. */
  readonly isOurs: boolean;
  /** Version of the adapter. */
  readonly version: string | undefined;
  /** On the root, as the next five are. */
  readonly processes: readonly Process[];
  readonly breakpoints: readonly TensorBreakpointState[];
  readonly dataBreakpoints: readonly DataBreakpointState[];
  readonly findings: readonly Finding[];
  /** Changes made to each process, oldest first, by pid. */
  readonly patches: ReadonlyMap<number, readonly PatchState[]>;
  /** Latest step of each process, by pid. */
  readonly steps: ReadonlyMap<number, StepSeen>;
  readonly notices: readonly string[];
  /** Why a breakpoint in compiled code is not hit, once there is one that an eager run mends. */
  readonly eagerOffer: string | undefined;
  /** Those of the notices that came from the adapter: the editor has shown them by itself. */
  readonly heard: ReadonlySet<string>;
  /** Of the process that this session debugs, once known. */
  readonly pid: number | undefined;
  readonly state: State;
  /** The latest stop that says more than its reason, while it lasts. */
  readonly told: ToldStop | undefined;
  /** Description of the stop, while stopped. */
  readonly stoppedText: string | undefined;
}

/** Debug types behind which our adapter may run: our own, and the stock extension's. */
export const DEBUG_TYPES = ["zentracer", "debugpy", "python"] as const;

const PREFIX = "zentracer/";

type Requests = Messages["requests"];

export class Sessions implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly stopped = new vscode.EventEmitter<ZenSession>();
  private readonly ended = new vscode.EventEmitter<ZenSession>();
  private readonly batch = new OncePerFrame(() => {
    this.changed.fire();
  });
  /** In the order in which they started, so a parent comes before its children. */
  private readonly live = new Map<string, Session>();
  private readonly parts: vscode.Disposable[];

  /** At most one a frame. */
  readonly onDidChange = this.changed.event;
  readonly onDidStop = this.stopped.event;
  readonly onDidEnd = this.ended.event;

  constructor(private readonly log: vscode.LogOutputChannel) {
    const factory = { createDebugAdapterTracker: (debug: vscode.DebugSession) => this.track(debug) };
    this.parts = [
      ...DEBUG_TYPES.map((type) => vscode.debug.registerDebugAdapterTrackerFactory(type, factory)),
      vscode.debug.onDidReceiveDebugSessionCustomEvent((event) => {
        this.onCustomEvent(event);
      }),
      vscode.debug.onDidTerminateDebugSession((debug) => {
        this.end(debug);
      }),
      vscode.debug.onDidChangeActiveDebugSession(() => {
        this.batch.request();
      }),
    ];
  }

  /** Live sessions that are ours or about to be, roots before children. */
  all(): readonly ZenSession[] {
    return [...this.live.values()].filter(
      (session) => session.isOurs || session.debug.type === "zentracer",
    );
  }

  /** What is known of a live session; also of one of debugpy's own, with `isOurs` false. */
  of(session: vscode.DebugSession | undefined): ZenSession | undefined {
    return session && this.live.get(session.id);
  }

  /** The session that the user looks at, else the newest. */
  active(): ZenSession | undefined {
    const all = this.all();
    const looked = this.of(vscode.debug.activeDebugSession);
    return looked && all.includes(looked) ? looked : all.at(-1);
  }

  /**
   * Asks the adapter of a session.
   *
   * Rejects with an Error whose message is the adapter's sentence.
   */
  async request<N extends keyof Requests>(
    session: ZenSession,
    name: N,
    args: Requests[N]["arguments"],
  ): Promise<Requests[N]["body"]> {
    if (session.state === "ended") throw new Error("The debug session has ended.");
    if (!session.isOurs) throw new Error(notOurs(session.debug));
    const body: unknown = await session.debug.customRequest(PREFIX + name, args);
    const answer = readAnswer(name, body);
    // What the event would tell a moment later: whoever changes the list next begins with this one.
    if (name === "set_data_breakpoints") this.hear(session, "data_breakpoints", body);
    return answer;
  }

  dispose(): void {
    this.batch.dispose();
    for (const part of [...this.parts, this.changed, this.stopped, this.ended]) part.dispose();
  }

  private track(debug: vscode.DebugSession): vscode.DebugAdapterTracker {
    const parent = debug.parentSession && this.live.get(debug.parentSession.id);
    const session = new Session(debug, parent);
    this.live.set(debug.id, session);
    this.batch.request();
    return {
      onWillReceiveMessage: (message: unknown) => {
        session.run.asked(message);
      },
      onDidSendMessage: (message: unknown) => {
        this.onMessage(session, message);
      },
      // An adapter that could not be started has no terminate event.
      onError: () => {
        if (session.state === "starting") this.end(debug);
      },
      onExit: () => {
        if (session.state === "starting") this.end(debug);
      },
    };
  }

  private onMessage(session: Session, message: unknown): void {
    const { state, stoppedText, told, pid, handshake } = session.run;
    const stops = session.observe(message);
    const now = session.run;
    if (now.handshake && now.handshake !== handshake) this.greet(session, now.handshake.protocolVersion);
    const isNew =
      now.state !== state ||
      now.stoppedText !== stoppedText ||
      now.told !== told ||
      now.pid !== pid ||
      now.handshake !== handshake;
    if (isNew || stops) this.batch.request();
    if (stops) this.stopped.fire(session);
  }

  private greet(session: Session, protocolVersion: number): void {
    const sentence = protocolMismatch(session.version ?? "", protocolVersion);
    if (sentence) session.addNotice(sentence);
  }

  private onCustomEvent(event: vscode.DebugSessionCustomEvent): void {
    if (!event.event.startsWith(PREFIX)) return;
    const name = event.event.slice(PREFIX.length);
    const session = this.live.get(event.session.id);
    if (session && isEventName(name)) this.hear(session, name, event.body);
  }

  private hear(session: ZenSession, name: EventName, body: unknown): void {
    try {
      this.live.get(session.root.debug.id)?.receive(name, body);
    } catch (error) {
      // An adapter of another version: that one event is lost, and the log says which.
      this.log.warn(`ignored the event ${PREFIX}${name}: ${String(error)}`);
      return;
    }
    this.batch.request();
  }

  private end(debug: vscode.DebugSession): void {
    const session = this.live.get(debug.id);
    if (!session) return;
    this.batch.flush(); // what it told last is heard while it is still there
    this.live.delete(debug.id);
    session.run.end();
    this.ended.fire(session);
    this.batch.request();
    // Those that could not be reached are never said to have ended; without their root none goes on.
    for (const child of this.live.values()) if (child.root === session) this.end(child.debug);
  }
}

function notOurs(debug: vscode.DebugSession): string {
  return (
    `“${debug.name}” is debugged by debugpy alone. Start it with "type": "zentracer", ` +
    'or set its "debugAdapterPath" to ZenTracer\'s adapter (command “Copy Adapter Path”).'
  );
}
