/** Before a program starts: whether its interpreter is there, new enough, and has what it needs. */
import * as vscode from "vscode";
import { readFile } from "node:fs/promises";
import { frameworkOf, importedFrameworks, installCommand } from "../pure/python/imports";
import { OLDEST } from "../pure/python/probe";
import type { Answer, Probes } from "./probes";

export type Verdict = "start" | "stop" | "select";

const SELECT = "Select Another Interpreter";
const ANYWAY = "Debug Anyway";
const COPY = "Copy Install Command";

/** What the interpreter is to run, as far as the configuration tells. */
export interface Target {
  readonly program: string | undefined;
  readonly module: string | undefined;
}

/** Looks at the interpreter and says what is wrong; the user decides what to do about it. */
export async function checkInterpreter(
  probes: Probes,
  command: readonly string[],
  target: Target,
  env: Record<string, unknown>,
): Promise<Verdict> {
  const answer = await probes.ask(command, env);
  const fault = faultOf(command, answer);
  if (fault !== undefined) {
    return (await vscode.window.showErrorMessage(fault, SELECT)) === SELECT ? "select" : "stop";
  }
  if (answer.kind !== "answered") return "start";
  const { frameworks } = answer.probe;
  const missing = (await importsOf(target)).find((name) => frameworks?.has(name) === false);
  if (missing === undefined) return "start";
  probes.forget(); // the next start comes after it was installed
  return askAbout(missing, answer.file);
}

/** Says why an interpreter cannot run the adapter; nothing if it can. */
export function faultOf(command: readonly string[], answer: Answer): string | undefined {
  const name = command.join(" ");
  switch (answer.kind) {
    case "missing":
      return `The Python interpreter ${name} is not there. Select another one, or mend the path.`;
    case "failed":
      return `The Python interpreter ${name} does not run: ${answer.why}`;
    case "answered":
      return answer.probe.isSupported
        ? undefined
        : `Python ${answer.probe.version} is too old: ZenTracer needs ${OLDEST} or newer (${name}).`;
  }
}

async function askAbout(framework: string, python: string): Promise<Verdict> {
  const text = `The program imports ${framework}, which is not installed for ${python}.`;
  const picked = await vscode.window.showWarningMessage(text, SELECT, ANYWAY, COPY);
  switch (picked) {
    case SELECT:
      return "select";
    case ANYWAY:
      return "start";
    case COPY:
      await vscode.env.clipboard.writeText(installCommand(python, framework));
      return "stop";
    case undefined:
      return "stop";
  }
}

async function importsOf({ program, module }: Target): Promise<string[]> {
  const framework = module === undefined ? undefined : frameworkOf(module);
  if (framework !== undefined) return [framework];
  if (program === undefined) return [];
  try {
    return importedFrameworks(await readFile(program, "utf8"));
  } catch {
    return []; // not there, or a folder: the adapter says what is wrong with it
  }
}
