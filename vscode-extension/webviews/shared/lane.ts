/** One kind of picture and the requests for it: one in flight, the latest wins. */
import type { ViewQuery } from "../../src/pure/tensorQueries";
import type { TensorView } from "../../src/wire/generated";

/** Shorter waits are not shown, so nothing flickers. */
export const SLOW_MS = 150;
export const GIVE_UP_MS = 10_000;

const NO_ANSWER =
  "The program does not answer. It may be busy, or stopped inside an operation that holds " +
  "Python's lock.";
const KEPT_ANSWERS = 16;

export interface LaneHost {
  /** Sends a query; returns its number. */
  ask(query: ViewQuery): number;
  cancel(id: number): void;
  changed(): void;
  /** Whether a question can be answered now. */
  readable(): boolean;
}

export class Lane {
  /** The latest answer, of whatever query. */
  shown: TensorView | undefined;
  /** Why the latest query has no answer. */
  failure: string | undefined;
  /** Whether an answer takes so long that it should be said. */
  slow = false;

  private wanted: ViewQuery | undefined;
  private shownKey = "";
  private flight: { id: number; key: string } | undefined;
  private slowTimer: ReturnType<typeof setTimeout> | undefined;
  private giveUpTimer: ReturnType<typeof setTimeout> | undefined;
  /** Answers of the present generation. */
  private readonly kept = new Map<string, TensorView>();

  constructor(private readonly host: LaneHost) {}

  /** Whether what is shown is what is wanted. */
  get current(): boolean {
    return this.wanted === undefined || this.shownKey === keyOf(this.wanted);
  }

  get busy(): boolean {
    return this.flight !== undefined;
  }

  /** Says what should be shown; nothing, if the picture is out of sight. */
  want(query: ViewQuery | undefined): void {
    if (query && this.wanted && keyOf(query) === keyOf(this.wanted)) {
      if (!this.failure) this.ask();
      return;
    }
    this.wanted = query;
    this.failure = undefined;
    if (!query) this.drop();
    else this.ask();
  }

  retry(): void {
    this.failure = undefined;
    this.ask();
    this.host.changed();
  }

  /** The program has moved on: what is shown stays until there is an answer from now. */
  renew(): void {
    this.drop();
    this.kept.clear();
    this.shownKey = "";
    this.failure = undefined;
  }

  /** Takes an answer; false if it is not for this lane. */
  answer(id: number, body: TensorView): boolean {
    if (this.flight?.id !== id) return false;
    this.keep(this.flight.key, body);
    this.show(this.flight.key, body);
    this.land();
    this.ask();
    this.host.changed();
    return true;
  }

  /** Takes a failure; false if it is not for this lane. */
  fail(id: number, message: string): boolean {
    if (this.flight?.id !== id) return false;
    const isLatest = this.wanted !== undefined && this.flight.key === keyOf(this.wanted);
    this.land();
    if (isLatest) this.failure = message;
    else this.ask();
    this.host.changed();
    return true;
  }

  private ask(): void {
    if (!this.wanted || this.current) return;
    const key = keyOf(this.wanted);
    const known = this.kept.get(key);
    if (known) {
      this.show(key, known);
      return;
    }
    if (this.flight || !this.host.readable()) return;
    const id = this.host.ask(this.wanted);
    this.flight = { id, key };
    this.slowTimer = setTimeout(() => {
      this.slow = true;
      this.host.changed();
    }, SLOW_MS);
    this.giveUpTimer = setTimeout(() => {
      this.host.cancel(id);
      this.fail(id, NO_ANSWER);
    }, GIVE_UP_MS);
  }

  private show(key: string, body: TensorView): void {
    this.shown = body;
    this.shownKey = key;
    this.failure = undefined;
  }

  private keep(key: string, body: TensorView): void {
    this.kept.set(key, body);
    const oldest = this.kept.keys().next();
    if (this.kept.size > KEPT_ANSWERS && !oldest.done) this.kept.delete(oldest.value);
  }

  private drop(): void {
    if (this.flight) this.host.cancel(this.flight.id);
    this.land();
  }

  private land(): void {
    clearTimeout(this.slowTimer);
    clearTimeout(this.giveUpTimer);
    this.flight = undefined;
    this.slow = false;
  }
}

function keyOf(query: ViewQuery): string {
  return JSON.stringify(query);
}
