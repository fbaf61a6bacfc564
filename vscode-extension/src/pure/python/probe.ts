/** What a Python interpreter says about itself. */
import { isRecord } from "../guards";

export interface Probe {
  /** E.g. `3.11.7`. */
  readonly version: string;
  /** Whether it is new enough for ZenTracer. */
  readonly isSupported: boolean;
  /** The executable as Python itself names it. */
  readonly executable: string;
  /** Which of the frameworks can be imported; unknown on versions that are too old. */
  readonly frameworks: ReadonlySet<string> | undefined;
}

export const FRAMEWORKS = ["torch", "tensorflow", "jax"] as const;
export const OLDEST = "3.9";

const MARK = "zentracer-probe:";

/**
 * Runs on every Python since 2.7, and imports none of the frameworks. The folder that it happens to
 * run in is not looked into: anybody may have put a `json.py` there.
 */
export const PROBE_PROGRAM = `
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json
try:
    from importlib.util import find_spec
except ImportError:
    found = None
else:
    found = []
    for name in ${JSON.stringify(FRAMEWORKS)}:
        try:
            if find_spec(name) is not None:
                found.append(name)
        except (ImportError, ValueError):
            pass
answer = {"version": list(sys.version_info[:3]), "executable": sys.executable, "frameworks": found}
print("${MARK}" + json.dumps(answer))
`;

/** Reads the answer; whatever a site's startup files print around it does no harm. */
export function readProbe(output: string): Probe | undefined {
  const line = output.split(/\r?\n/).find((text) => text.startsWith(MARK));
  if (line === undefined) return undefined;
  const answer = parsed(line.slice(MARK.length));
  if (!isRecord(answer) || !Array.isArray(answer["version"])) return undefined;
  const version = answer["version"].map(Number);
  const { frameworks, executable } = answer;
  return {
    version: version.join("."),
    isSupported: isAtLeast(version, OLDEST.split(".").map(Number)),
    executable: typeof executable === "string" ? executable : "",
    frameworks: Array.isArray(frameworks) ? new Set(frameworks.map(String)) : undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // cut off: the interpreter died while it answered
  }
}

function isAtLeast(version: readonly number[], oldest: readonly number[]): boolean {
  for (const [index, part] of oldest.entries()) {
    const own = version[index] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}
