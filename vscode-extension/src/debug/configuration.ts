/** Completes debug configurations, so that F5 works with little or none. */
import * as vscode from "vscode";
import { readFile } from "node:fs/promises";
import {
  type Configuration,
  type OpenFile,
  type Outcome,
  TYPE,
  completed,
  environmentOf,
  isEmpty,
  ofFile,
  ofStart,
  pythonOf,
} from "../pure/configuration";
import { parseEnvFile } from "../pure/envFile";
import { isRecord } from "../pure/guards";
import { checkInterpreter, faultOf } from "./checks";
import { type Interpreters, settingOf } from "./interpreter";
import { machine } from "./machine";
import type { Probes } from "./probes";

type Folder = vscode.WorkspaceFolder | undefined;

export class Configurations implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly interpreters: Interpreters,
    private readonly probes: Probes,
  ) {}

  /** First configuration of a new launch.json. */
  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    return [
      {
        type: TYPE,
        request: "launch",
        name: "ZenTracer: Python file",
        program: "${file}",
        console: "integratedTerminal",
      },
    ];
  }

  resolveDebugConfiguration(
    folder: Folder,
    given: vscode.DebugConfiguration,
  ): vscode.DebugConfiguration | undefined {
    if (isChild(given)) return given;
    const file = openFile();
    const start = isEmpty(given) ? ofStart(given, file) : ({ ok: true, value: given } as const);
    return accepted(start.ok ? completed(start.value, file, folder?.uri.fsPath) : start);
  }

  /** Variables have their values now, so files can be looked at. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: Folder,
    given: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (isChild(given)) return given;
    const fromFile = await variablesOf(given["envFile"]);
    if (!fromFile.ok) {
      refuse(fromFile.sentence);
      return undefined;
    }
    const env = environmentOf(given, fromFile.value);
    const configuration = env ? { ...given, env } : given;
    return configuration.request === "attach"
      ? this.attach(folder, configuration)
      : this.launch(folder, configuration);
  }

  private async launch(
    folder: Folder,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const python = await this.interpreterFor(folder, configuration);
    if (python === undefined) return undefined;
    const { pythonPath: _, ...rest } = configuration;
    return this.withAdapter(folder, { ...rest, python }, python);
  }

  private async attach(
    folder: Folder,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const found = adapterPython(folder, configuration) ?? (await this.interpreters.find(folder));
    return found === undefined ? undefined : this.withAdapter(folder, configuration, [found]);
  }

  /** Asks again as long as the user selects another interpreter. */
  private async interpreterFor(
    folder: Folder,
    configuration: vscode.DebugConfiguration,
  ): Promise<string[] | undefined> {
    let command = pythonOf(configuration);
    if (command.length === 0) command = list(await this.interpreters.find(folder));
    const env = isRecord(configuration["env"]) ? configuration["env"] : {};
    const target = { program: text(configuration["program"]), module: text(configuration["module"]) };
    while (command.length > 0) {
      switch (await checkInterpreter(this.probes, command, target, env)) {
        case "start":
          return command;
        case "stop":
          return undefined;
        case "select":
          command = list(await this.interpreters.select(folder));
      }
    }
    return undefined;
  }

  /** The adapter runs on the program's interpreter unless somebody says otherwise. */
  private async withAdapter(
    folder: Folder,
    configuration: vscode.DebugConfiguration,
    python: readonly string[],
  ): Promise<vscode.DebugConfiguration | undefined> {
    const own = adapterPython(folder, configuration);
    const command = own === undefined ? [...python] : [own];
    const fault = faultOf(command, await this.probes.ask(command));
    if (fault !== undefined) {
      refuse(`The debug adapter cannot run. ${fault}`);
      return undefined;
    }
    return { ...configuration, debugAdapterPython: command };
  }
}

/** The adapter made it, for a child process: all of it has its reason. */
function isChild(configuration: Configuration): boolean {
  return configuration["subProcessId"] !== undefined;
}

/** Debugs a file as it is, whatever launch.json has. */
export async function debugFile(uri: vscode.Uri | undefined): Promise<void> {
  const document = uri ? await vscode.workspace.openTextDocument(uri) : undefined;
  const found = ofFile(document ? asOpenFile(document) : openFile());
  if (!found.ok) {
    refuse(found.sentence);
    return;
  }
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(String(found.value["program"])));
  await vscode.debug.startDebugging(folder, found.value as vscode.DebugConfiguration);
}

function adapterPython(folder: Folder, configuration: Configuration): string | undefined {
  const own: unknown = configuration["debugAdapterPython"];
  return typeof own === "string" && own ? own : settingOf("adapterPython", folder);
}

async function variablesOf(envFile: unknown): Promise<Outcome<Record<string, string>>> {
  if (typeof envFile !== "string" || envFile === "") return { ok: true, value: {} };
  try {
    return { ok: true, value: parseEnvFile(await readFile(envFile, "utf8"), machine.env) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, sentence: `The configuration's "envFile" cannot be read: ${why}` };
  }
}

function openFile(): OpenFile | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document && asOpenFile(document);
}

function asOpenFile(document: vscode.TextDocument): OpenFile {
  const { fileName, languageId, uri } = document;
  return { path: fileName, languageId, isUntitled: uri.scheme !== "file" };
}

/** Undefined ends a start quietly; null would open launch.json. */
function accepted(outcome: Outcome): vscode.DebugConfiguration | undefined {
  if (outcome.ok) return outcome.value as vscode.DebugConfiguration;
  refuse(outcome.sentence);
  return undefined;
}

function refuse(sentence: string): void {
  void vscode.window.showErrorMessage(sentence);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function list(python: string | undefined): string[] {
  return python === undefined ? [] : [python];
}
