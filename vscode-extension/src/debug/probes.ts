/** Asks interpreters what they are, each once. */
import { executables, changedAt, machine, outputOf } from "./machine";
import { filesOf } from "../pure/python/paths";
import { PROBE_PROGRAM, type Probe, readProbe } from "../pure/python/probe";

/** What came of asking an interpreter. */
export type Answer =
  | { readonly kind: "answered"; readonly file: string; readonly probe: Probe }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly why: string };

export class Probes {
  private readonly known = new Map<string, Promise<Answer>>();

  /**
   * Asks an interpreter, or remembers its answer until its file changes.
   *
   * @param command The interpreter and its own arguments.
   * @param env Environment of the program; it may lead to other packages.
   */
  async ask(command: readonly string[], env: Record<string, unknown> = {}): Promise<Answer> {
    const [name = "", ...args] = command;
    const [file] = await executables(filesOf(name, machine));
    if (file === undefined) return { kind: "missing" };
    const paths = Object.entries(env).filter(([key]) => key.startsWith("PYTHON"));
    const key = JSON.stringify([file, args, paths, await changedAt(file)]);
    const answer = this.known.get(key) ?? probe(file, args, Object.fromEntries(paths));
    this.known.set(key, answer);
    if ((await answer).kind !== "answered") this.known.delete(key);
    return answer;
  }

  /** Forgets all answers: something may have been installed since. */
  forget(): void {
    this.known.clear();
  }
}

async function probe(file: string, args: string[], env: Record<string, unknown>): Promise<Answer> {
  try {
    const output = await outputOf(file, [...args, "-c", PROBE_PROGRAM], withChanges(env));
    const found = readProbe(output);
    return found
      ? { kind: "answered", file, probe: found }
      : { kind: "failed", why: "it does not answer as Python does" };
  } catch (error) {
    return { kind: "failed", why: lastLine(error instanceof Error ? error.message : String(error)) };
  }
}

function withChanges(changes: Record<string, unknown>): NodeJS.ProcessEnv {
  const env = { ...process.env };
  for (const [name, value] of Object.entries(changes)) {
    env[name] = typeof value === "string" ? value : undefined;
  }
  return env;
}

function lastLine(text: string): string {
  return text.trim().split(/\r?\n/).at(-1) ?? "";
}
