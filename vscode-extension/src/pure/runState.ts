/** What a debug session is doing, told from the DAP messages that pass by. */
import { isRecord } from "./guards";

export type State = "starting" | "running" | "stopped" | "ended";

/** A stop that was not asked for by a line, and what it says of itself. */
export interface ToldStop {
  readonly reason: string;
  readonly threadId: number;
  readonly text: string;
}

/** Handshake of our adapter, in the capabilities that it answers to `initialize`. */
export interface Handshake {
  readonly version: string;
  readonly protocolVersion: number;
}

const RESUMING = new Set(["continue", "next", "stepIn", "stepOut", "stepBack", "goto", "restart"]);

/** Fed with every message of one session, in the order in which they pass. */
export class RunState {
  state: State = "starting";
  stoppedText: string | undefined;
  /** The latest stop, if it says more than why, and while its thread stands there. */
  told: ToldStop | undefined;
  pid: number | undefined;
  handshake: Handshake | undefined;
  private readonly stopped = new Set<number>();
  /** Requests to resume that are on their way; a stop in between makes their answers old news. */
  private readonly resuming = new Set<unknown>();

  /** Takes one message to the adapter. */
  asked(message: unknown): void {
    if (isRecord(message) && RESUMING.has(String(message["command"]))) {
      this.resuming.add(message["seq"]);
    }
  }

  /** Takes one message from the adapter; returns whether a thread has just stopped. */
  observe(message: unknown): boolean {
    if (!isRecord(message) || this.state === "ended") return false;
    const body = isRecord(message["body"]) ? message["body"] : {};
    if (message["type"] === "event") return this.onEvent(String(message["event"]), body);
    if (message["type"] === "response" && message["success"] === true) {
      this.onResponse(String(message["command"]), body, message["request_seq"]);
    }
    return false;
  }

  end(): void {
    this.state = "ended";
    this.stoppedText = undefined;
    this.told = undefined;
  }

  private onEvent(event: string, body: Record<string, unknown>): boolean {
    switch (event) {
      case "process":
        this.pid = typeof body["systemProcessId"] === "number" ? body["systemProcessId"] : this.pid;
        this.run();
        return false;
      case "stopped":
        this.stop(body);
        return true;
      case "continued":
        this.resume(body);
        return false;
      case "thread":
        if (body["reason"] === "exited") this.release(body["threadId"]);
        return false;
      default:
        return false;
    }
  }

  private onResponse(command: string, body: Record<string, unknown>, seq: unknown): void {
    if (command === "initialize") this.handshake = handshakeOf(body);
    else if (command === "launch" || command === "attach") this.run();
    else if (this.resuming.delete(seq)) this.resume(body);
  }

  private run(): void {
    if (this.state === "starting") this.state = "running";
  }

  private stop(body: Record<string, unknown>): void {
    this.state = "stopped";
    this.resuming.clear();
    const { description, text, reason, threadId } = body;
    this.stoppedText = [description, text, reason].find(isText);
    this.told =
      typeof threadId === "number" && isText(text) && isText(reason)
        ? { reason, threadId, text }
        : undefined;
    if (typeof threadId === "number") this.stopped.add(threadId);
  }

  /** debugpy resumes every thread unless it says otherwise. */
  private resume(body: Record<string, unknown>): void {
    if (body["allThreadsContinued"] === false && typeof body["threadId"] === "number") {
      this.release(body["threadId"]);
      return;
    }
    this.stopped.clear();
    this.told = undefined;
    this.leaveStop();
  }

  private release(thread: unknown): void {
    if (typeof thread !== "number" || !this.stopped.delete(thread)) return;
    if (this.told?.threadId === thread) this.told = undefined;
    this.leaveStop();
  }

  private leaveStop(): void {
    if (this.state !== "stopped" || this.stopped.size > 0) return;
    this.state = "running";
    this.stoppedText = undefined;
  }
}

function handshakeOf(capabilities: Record<string, unknown>): Handshake | undefined {
  const ours = capabilities["zentracer"];
  if (!isRecord(ours)) return undefined;
  const { version, protocol_version: protocol } = ours;
  return {
    version: typeof version === "string" ? version : "of an unknown version",
    protocolVersion: typeof protocol === "number" ? protocol : 0,
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
