/** Which interpreter to take, and when to ask. */

/** Where an interpreter comes from. */
export type Origin = "configuration" | "pythonExtension" | "chosen" | "setting" | "environment" | "path";

/** What there is to choose from; whoever comes first decides. */
export interface Sources {
  /** The Python extension's active environment. */
  readonly pythonExtension: () => Promise<string | undefined>;
  /** What the user picked from our list for this workspace. */
  readonly chosen: () => Promise<string | undefined>;
  /** `zentracer.python`. */
  readonly setting: () => Promise<string | undefined>;
  /** A virtual environment in the workspace folder. */
  readonly environment: () => Promise<string | undefined>;
  /** Interpreters on the PATH. */
  readonly path: () => Promise<readonly string[]>;
}

export type Decision =
  | { readonly kind: "take"; readonly python: string; readonly origin: Origin }
  | { readonly kind: "ask"; readonly pythons: readonly string[] }
  | { readonly kind: "none" };

/** Later sources are not even looked at once one has an answer: some of them cost time. */
export async function decide(sources: Sources): Promise<Decision> {
  const single: [Origin, () => Promise<string | undefined>][] = [
    ["pythonExtension", () => sources.pythonExtension()],
    ["chosen", () => sources.chosen()],
    ["setting", () => sources.setting()],
    ["environment", () => sources.environment()],
  ];
  for (const [origin, source] of single) {
    const python = await source();
    if (python) return { kind: "take", python, origin };
  }
  const [first, ...others] = await sources.path();
  if (first === undefined) return { kind: "none" };
  if (others.length === 0) return { kind: "take", python: first, origin: "path" };
  return { kind: "ask", pythons: [first, ...others] };
}
