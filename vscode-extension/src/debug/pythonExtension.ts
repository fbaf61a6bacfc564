/** The interpreter that the user selected in the Python extension, if there is one. */
import * as vscode from "vscode";
import { isRecord } from "../pure/guards";

const PYTHON = "ms-python.python";
const ENVIRONMENTS = "ms-python.vscode-python-envs";

export function isInstalled(): boolean {
  return vscode.extensions.getExtension(PYTHON) !== undefined;
}

/** Lets the user select in the Python extension, which then keeps what was selected. */
export async function select(): Promise<void> {
  await vscode.commands.executeCommand("python.setInterpreter");
}

/** Path of the selected interpreter; nothing if no such extension is there or has one. */
export async function activePython(resource: vscode.Uri | undefined): Promise<string | undefined> {
  return (await answer(fromPython(resource))) ?? (await answer(fromEnvironments(resource)));
}

/** An extension that fails is as one that has nothing selected: there are other places to look. */
async function answer(asked: Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await asked;
  } catch {
    return undefined; // its own fault, of which it tells by itself
  }
}

/** The API is looked at piece by piece: it belongs to an extension of any version. */
async function fromPython(resource: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = member(await apiOf(PYTHON), "environments");
  const active: unknown = call(environments, "getActiveEnvironmentPath", resource);
  if (!isRecord(active)) return undefined;
  const resolved: unknown = await call(environments, "resolveEnvironment", active);
  const executable = member(member(resolved, "executable"), "uri");
  return text(member(executable, "fsPath"));
}

async function fromEnvironments(resource: vscode.Uri | undefined): Promise<string | undefined> {
  const environment: unknown = await call(await apiOf(ENVIRONMENTS), "getEnvironment", resource);
  return text(member(member(member(environment, "execInfo"), "run"), "executable"));
}

async function apiOf(id: string): Promise<unknown> {
  const extension = vscode.extensions.getExtension<unknown>(id);
  return extension && (extension.isActive ? extension.exports : await extension.activate());
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function call(target: unknown, name: string, ...args: unknown[]): unknown {
  const method = member(target, name);
  return typeof method === "function" ? (method.apply(target, args) as unknown) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
