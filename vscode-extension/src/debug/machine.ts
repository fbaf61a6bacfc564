/** The machine that the extension host runs on: files and processes. */
import { execFile } from "node:child_process";
import { access, constants, realpath, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname } from "node:path";
import type { Machine } from "../pure/python/paths";

export const machine: Machine = { platform: process.platform, env: process.env };

export const home = homedir();

/** Longest that an interpreter may take to answer; a network drive may need a while. */
const PATIENCE_MS = 30_000;

/** Most that a command may print; a list of all processes with their arguments is long. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Output of a command; rejects if it cannot be run or fails. */
export function outputOf(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const options = { env, cwd: tmpdir(), timeout: PATIENCE_MS, maxBuffer: MOST_BYTES, windowsHide: true };
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout) => {
      if (error) reject(new Error(error.message, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** Those files that are there and can be executed, each once, in their order. */
export async function executables(files: readonly string[]): Promise<string[]> {
  const found = new Map<string, string>();
  const looked = await Promise.all(files.map(async (file) => [file, await identity(file)] as const));
  for (const [file, id] of looked) {
    if (id !== undefined && !found.has(id)) found.set(id, file);
  }
  return [...found.values()];
}

/** Time of the last change; nothing for a file that is not there. */
export async function changedAt(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mtimeMs;
  } catch {
    return undefined; // not there, which is an answer
  }
}

/**
 * Tells two names of one interpreter.
 *
 * The folder counts as well: a virtual environment's `python` leads to the one it was made with.
 */
async function identity(file: string): Promise<string | undefined> {
  try {
    if (!(await stat(file)).isFile()) return undefined;
    await access(file, constants.X_OK);
    return `${await realpath(dirname(file))}\n${await realpath(file)}`;
  } catch {
    return undefined; // not there, or not for us
  }
}
