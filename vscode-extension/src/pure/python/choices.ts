/** Interpreters as they are offered: each once, those of use first. */
import type { Probe } from "./probe";

export interface Choice {
  readonly python: string;
  /** Nothing if it did not answer. */
  readonly probe: Probe | undefined;
}

/** Shims and links lead to one interpreter, which says by itself where it is. */
export function choices(known: readonly Choice[]): Choice[] {
  const seen = new Set<string>();
  const single = known.filter(({ python, probe }) => {
    const folder = (probe?.executable || python).replace(/[\\/][^\\/]*$/, "");
    const id = `${folder} ${probe?.version ?? python}`;
    return !seen.has(id) && seen.add(id);
  });
  return single.sort((a, b) => use(b) - use(a));
}

function use({ probe }: Choice): number {
  if (!probe) return 0;
  if (!probe.isSupported) return 1;
  return probe.frameworks?.size ? 3 : 2;
}
