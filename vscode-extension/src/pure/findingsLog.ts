/** What was found, in all sessions; what an ended one found stays until the next one starts. */
import type { Finding } from "../wire/generated";

export interface Item {
  /** Stays the same from one message of the adapter to the next. */
  readonly key: string;
  readonly sessionId: string;
  readonly sessionName: string;
  readonly finding: Finding;
}

interface Source {
  readonly name: string;
  findings: readonly Finding[];
  isLive: boolean;
}

export class FindingsLog {
  private readonly sources = new Map<string, Source>();
  /** How often each cleared item had been found by then. */
  private readonly cleared = new Map<string, number>();

  /** Takes the whole list of one session. */
  update(id: string, name: string, findings: readonly Finding[]): void {
    const known = this.sources.get(id);
    if (known) {
      known.findings = findings;
    } else {
      for (const [other, source] of this.sources) if (!source.isLive) this.sources.delete(other);
      this.sources.set(id, { name, findings, isLive: true });
    }
    this.forgetCleared();
  }

  /** Marks all sessions but `live` as ended. */
  endAllBut(live: ReadonlySet<string>): void {
    for (const [id, source] of this.sources) source.isLive = live.has(id);
  }

  /** Hides everything that is listed now, until it is found again. */
  clear(): void {
    for (const item of this.all()) this.cleared.set(item.key, item.finding.count);
    for (const [id, source] of this.sources) if (!source.isLive) this.sources.delete(id);
  }

  /** What is to be shown, in the order in which it was found. */
  items(): readonly Item[] {
    return this.all().filter((item) => item.finding.count > (this.cleared.get(item.key) ?? 0));
  }

  /** A program that was started again counts from the beginning. */
  private forgetCleared(): void {
    const here = new Set(this.all().map((item) => item.key));
    for (const key of this.cleared.keys()) if (!here.has(key)) this.cleared.delete(key);
  }

  private all(): readonly Item[] {
    return [...this.sources].flatMap(([id, source]) => itemsOf(id, source));
  }
}

function itemsOf(sessionId: string, source: Source): readonly Item[] {
  return source.findings.map((finding) => ({
    key: keyOf(sessionId, finding),
    sessionId,
    sessionName: source.name,
    finding,
  }));
}

/** The adapter tells findings apart by the same things. */
function keyOf(sessionId: string, { rule, source, details }: Finding): string {
  const { path, line } = source;
  return JSON.stringify([sessionId, rule, path, line, details?.module ?? null, details?.op ?? null]);
}
