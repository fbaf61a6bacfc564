/** What is missing in a configuration, and what is wrong with it. */
import { isRecord } from "./guards";

/** A launch or attach configuration, whatever a user wrote. */
export type Configuration = Record<string, unknown>;

/** The file that the user looks at. */
export interface OpenFile {
  readonly path: string;
  readonly languageId: string;
  /** Never saved, so there is nothing to run. */
  readonly isUntitled: boolean;
}

/** A configuration to start with, or the sentence that says why there is none. */
export type Outcome<T = Configuration> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly sentence: string };

export const TYPE = "zentracer";

const TARGETS = ["program", "module", "code"] as const;
const WAYS = ["connect", "listen", "processId"] as const;

/** F5 without a launch.json gives an empty configuration. */
export function isEmpty(configuration: Configuration): boolean {
  return !configuration["type"] && !configuration["request"] && !configuration["name"];
}

/** Debugs the file that the user looks at. */
export function ofFile(file: OpenFile | undefined): Outcome {
  if (file?.languageId !== "python") {
    return no("Open the Python file that you want to debug, then start again.");
  }
  if (file.isUntitled) return no("Save the file first: ZenTracer runs it from the disk.");
  const name = file.path.split(/[\\/]/).at(-1) ?? file.path;
  return yes({ type: TYPE, request: "launch", name, program: file.path });
}

/** The same for a start without launch.json, which may still ask to run without debugging. */
export function ofStart(given: Configuration, file: OpenFile | undefined): Outcome {
  const own = ofFile(file);
  return own.ok ? yes({ ...given, ...own.value }) : own;
}

/** Completes what the user left out. Without a folder, a program runs in its own. */
export function completed(
  configuration: Configuration,
  file: OpenFile | undefined,
  folder: string | undefined,
): Outcome {
  if (configuration["request"] === "attach") return attachment(withDefaults(configuration, {}));
  if (configuration["request"] !== "launch") {
    return no('The configuration\'s "request" has to be "launch" or "attach".');
  }
  const given = TARGETS.filter((name) => isGiven(configuration[name]));
  if (given.length > 1) {
    return no(`The configuration has both "${given.join('" and "')}". Keep one of them.`);
  }
  const defaults: Configuration = { console: "integratedTerminal" };
  if (folder !== undefined) defaults["cwd"] = folder;
  const whole = withDefaults(configuration, defaults);
  if (given.length > 0) return launch(whole);
  const own = ofFile(file);
  if (!own.ok) return no(`The configuration has no "program". ${own.sentence}`);
  return launch({ ...whole, program: own.value["program"] });
}

/** Program and arguments of the interpreter that a configuration names. */
export function pythonOf(configuration: Configuration): string[] {
  const named = configuration["python"] ?? configuration["pythonPath"];
  if (typeof named === "string") return named.trim() ? [named.trim()] : [];
  return Array.isArray(named) ? named.map(String) : [];
}

/** Environment of the program: the file's variables, and above them those written in place. */
export function environmentOf(
  configuration: Configuration,
  fromFile: Readonly<Record<string, string>>,
): Record<string, unknown> | undefined {
  const own = isRecord(configuration["env"]) ? configuration["env"] : {};
  const all = { ...fromFile, ...own };
  return Object.keys(all).length > 0 ? all : undefined;
}

function launch(configuration: Configuration): Outcome {
  const { env, args, python, pythonPath } = configuration;
  if (env !== undefined && !isRecord(env)) return no('"env" has to be an object: {"NAME": "value"}.');
  if (args !== undefined && typeof args !== "string" && !Array.isArray(args)) {
    return no('"args" has to be a list of strings, or one string for the shell.');
  }
  if (python !== undefined && pythonPath !== undefined) {
    return no('The configuration has both "python" and "pythonPath". Keep "python".');
  }
  return yes(configuration);
}

function attachment(configuration: Configuration): Outcome {
  // debugpy knows host and port in the configuration itself, too.
  const hasPort = isGiven(configuration["port"]);
  const ways = WAYS.filter((name) => isGiven(configuration[name]));
  if (ways.length > 1) {
    return no(`The configuration has both "${ways.join('" and "')}". Keep one of them.`);
  }
  if (ways.length === 0 && !hasPort && !isGiven(configuration["subProcessId"])) {
    return no('To attach, the configuration needs "connect" with a port, or "processId".');
  }
  return yes(configuration);
}

function withDefaults(configuration: Configuration, defaults: Configuration): Configuration {
  return { showReturnValue: true, ...defaults, ...configuration };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function yes(value: Configuration): Outcome {
  return { ok: true, value };
}

function no(sentence: string): { ok: false; sentence: string } {
  return { ok: false, sentence };
}
