/** How the debug adapter is reached: a process of its own, or for children a port of that one. */
import { isRecord } from "./guards";
import type { Configuration } from "./configuration";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** Where the adapter waits for the session of a child process; nothing for other sessions. */
export function childAddress(configuration: Configuration): Address | undefined {
  const { subProcessId, connect } = configuration;
  if (subProcessId === undefined || !isRecord(connect)) return undefined;
  const { host, port } = connect;
  if (typeof port !== "number") return undefined;
  return { host: typeof host === "string" ? host : "127.0.0.1", port };
}

/** The command line of an adapter of its own; nothing if no interpreter is known. */
export function adapterCommand(
  configuration: Configuration,
  adapter: string,
  errorsFile: string,
  traceFolder: string | undefined,
): Command | undefined {
  const [command, ...own] = strings(configuration["debugAdapterPython"]);
  if (command === undefined) return undefined;
  const trace = traceFolder === undefined ? [] : ["--log-dir", traceFolder];
  return { command, args: [...own, adapter, "--errors-to", errorsFile, ...trace] };
}

/** What the adapter writes into its errors file before anything has gone wrong. */
const HEADER = /^--- .* ---$/;

/** How Python begins when it dies itself; where it was stands below. */
const FATAL = "Fatal Python error: ";

/** The line that says what went wrong, cut to what a message can show. */
export function whatWentWrong(text: string): string | undefined {
  const lines = text
    .split(/\r?\n/)
    .map((part) => part.trim())
    .filter((part) => part !== "" && !HEADER.test(part));
  const line = lines.findLast((part) => part.startsWith(FATAL)) ?? lines.at(-1);
  return line !== undefined && line.length > 300 ? `${line.slice(0, 299)}…` : line;
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.map(String) : [];
}
