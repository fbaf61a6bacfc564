/** Which frame the Tensor panels look into: the one the user has selected, at the latest stop. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { isRecord } from "../pure/guards";
import { frameText, type State, whereText } from "../pure/tensorSituation";

/** A frame that stands, or stood, still. */
export interface Look {
  readonly session: ZenSession;
  readonly frameId: number;
  /** Number of the session's stop. */
  readonly stop: number;
  /** As a person would say it, e.g. `step at train.py:41, stop 3`. */
  readonly where: string;
}

export interface Program {
  readonly state: State;
  /** Debug type of the session. */
  readonly type: string;
}

/** The editor selects the new frame after a stop; if it does not, we look for ourselves. */
const SELECTION_MS = 250;

export class TensorFrames implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly stops = new Map<string, number>();
  private readonly parts: { dispose(): unknown }[];
  private latest: Look | undefined;
  private selectionTimer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the searches: only the newest may tell what it found. */
  private search = 0;

  readonly onDidChange = this.changed.event;

  constructor(private readonly sessions: Sessions) {
    this.parts = [
      this.changed,
      sessions.onDidStop((session) => {
        this.onStop(session);
      }),
      sessions.onDidChange(() => {
        this.changed.fire();
      }),
      sessions.onDidEnd((session) => {
        this.stops.delete(session.debug.id);
        this.changed.fire();
      }),
      vscode.debug.onDidChangeActiveStackItem(() => {
        void this.follow();
      }),
    ];
    void this.follow();
  }

  /** The frame to look into; undefined before the first stop. */
  get look(): Look | undefined {
    return this.latest;
  }

  get program(): Program {
    const debug = vscode.debug.activeStackItem?.session ?? vscode.debug.activeDebugSession;
    if (!debug) return { state: this.latest ? "ended" : "none", type: "" };
    const session = this.sessions.of(debug);
    const { type } = debug;
    const isOther = !session || (!session.isOurs && session.state !== "starting");
    if (isOther && type !== "zentracer") return { state: "foreign", type };
    return { state: session?.state ?? "starting", type };
  }

  /** Whether the frame still stands where it was looked at. */
  isAlive(look: Look): boolean {
    const { session } = look;
    return session.state === "stopped" && look.stop === this.stops.get(session.debug.id);
  }

  dispose(): void {
    clearTimeout(this.selectionTimer);
    for (const part of this.parts) part.dispose();
  }

  private onStop(session: ZenSession): void {
    this.stops.set(session.debug.id, (this.stops.get(session.debug.id) ?? 0) + 1);
    clearTimeout(this.selectionTimer);
    this.selectionTimer = setTimeout(() => {
      void this.follow();
    }, SELECTION_MS);
    this.changed.fire();
  }

  private async follow(): Promise<void> {
    const search = ++this.search;
    const found = await this.find().catch(() => undefined); // the program went on meanwhile
    if (search !== this.search || !found || isSame(found, this.latest)) return;
    clearTimeout(this.selectionTimer);
    this.latest = found;
    this.changed.fire();
  }

  private async find(): Promise<Look | undefined> {
    const item = vscode.debug.activeStackItem;
    const session = this.sessions.of(item?.session ?? vscode.debug.activeDebugSession);
    if (session?.state !== "stopped" || !session.isOurs) return undefined;
    const stop = this.stops.get(session.debug.id) ?? 0;
    const frames = await stack(session, item?.threadId);
    const wanted = item && "frameId" in item ? item.frameId : undefined;
    const frame = frames.find((one) => one.id === wanted) ?? frames[0];
    if (!frame || stop !== this.stops.get(session.debug.id)) return undefined;
    return { session, frameId: frame.id, stop, where: this.where(session, frame, stop) };
  }

  private where(session: ZenSession, frame: Frame, stop: number): string {
    const { steps } = session.root;
    const [only] = steps.size === 1 ? steps.values() : [];
    const step = (session.pid === undefined ? only : steps.get(session.pid))?.step;
    return whereText({
      frame: frame.text,
      ...(this.sessions.all().length > 1 ? { session: session.debug.name } : {}),
      ...(step === undefined ? {} : { step }),
      stop,
    });
  }
}

interface Frame {
  readonly id: number;
  readonly text: string;
}

async function stack(session: ZenSession, threadId: number | undefined): Promise<Frame[]> {
  for (const thread of threadId === undefined ? await threads(session) : [threadId]) {
    const body: unknown = await session.debug.customRequest("stackTrace", { threadId: thread });
    const found = readFrames(body);
    if (found.length) return found;
  }
  return [];
}

async function threads(session: ZenSession): Promise<number[]> {
  const body: unknown = await session.debug.customRequest("threads");
  const list: unknown = isRecord(body) ? body["threads"] : [];
  const ids = Array.isArray(list)
    ? list.map((one: unknown) => (isRecord(one) ? one["id"] : undefined))
    : [];
  return ids.filter((id) => typeof id === "number");
}

function readFrames(body: unknown): Frame[] {
  const list: unknown = isRecord(body) ? body["stackFrames"] : [];
  if (!Array.isArray(list)) return [];
  return list.flatMap((frame: unknown): Frame[] => {
    if (!isRecord(frame) || typeof frame["id"] !== "number") return [];
    const { name, line, source } = frame;
    const path = isRecord(source) ? source["path"] : undefined;
    return [{ id: frame["id"], text: frameText(String(name), path, line) }];
  });
}

function isSame(one: Look, other: Look | undefined): boolean {
  return (
    one.session === other?.session && one.frameId === other.frameId && one.stop === other.stop
  );
}
