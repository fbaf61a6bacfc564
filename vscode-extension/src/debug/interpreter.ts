/** The Python interpreter that runs the user's program. */
import * as vscode from "vscode";
import { choices } from "../pure/python/choices";
import { decide } from "../pure/python/order";
import {
  environmentPythons,
  expanded,
  filesOf,
  launcher,
  launcherPythons,
  pathPythons,
} from "../pure/python/paths";
import { OLDEST, type Probe } from "../pure/python/probe";
import { executables, home, machine, outputOf } from "./machine";
import type { Probes } from "./probes";
import * as pythonExtension from "./pythonExtension";

const CHOSEN = "zentracer.interpreter";

export class Interpreters {
  constructor(
    private readonly memory: vscode.Memento,
    private readonly probes: Probes,
  ) {}

  /** The interpreter where a configuration names none; asks where there are several. */
  async find(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
    const found = await decide({
      pythonExtension: () => pythonExtension.activePython(folder?.uri),
      chosen: () => this.existing(this.memory.get<string>(CHOSEN)),
      setting: () => Promise.resolve(settingOf("python", folder)),
      environment: () => firstOf(folder ? environmentPythons(folder.uri.fsPath, machine) : []),
      path: onPath,
    });
    switch (found.kind) {
      case "take":
        return found.python;
      case "ask":
        return this.pick(found.pythons);
      case "none":
        return this.complain();
    }
  }

  /** Lets the user select an interpreter, whatever is selected now. */
  async select(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
    this.probes.forget();
    if (pythonExtension.isInstalled()) {
      await pythonExtension.select();
      return pythonExtension.activePython(folder?.uri);
    }
    const own = folder ? environmentPythons(folder.uri.fsPath, machine) : [];
    return this.pick([...(await executables(own)), ...(await onPath())]);
  }

  private async existing(python: string | undefined): Promise<string | undefined> {
    return python === undefined ? undefined : firstOf(filesOf(python, machine));
  }

  private async pick(pythons: readonly string[]): Promise<string | undefined> {
    const browse: Item = { label: "$(folder-opened) Another interpreter…", python: undefined };
    const items = this.items(pythons).then((known) => [...known, browse]);
    const picked = await vscode.window.showQuickPick<Item>(items, {
      title: "Python interpreter for ZenTracer",
      placeHolder: "Which interpreter runs your program? It is remembered for this workspace.",
      matchOnDescription: true,
    });
    if (!picked) return undefined;
    const python = picked.python ?? (await browseForPython());
    if (python !== undefined) await this.memory.update(CHOSEN, python);
    return python;
  }

  private async items(pythons: readonly string[]): Promise<Item[]> {
    const asked = pythons.map(async (python) => ({ python, answer: await this.probes.ask([python]) }));
    const known = (await Promise.all(asked)).map(({ python, answer }) => ({
      python,
      probe: answer.kind === "answered" ? answer.probe : undefined,
    }));
    return choices(known).map(({ python, probe }) => ({
      label: probe ? `Python ${probe.version}` : "$(warning) Does not run",
      description: python,
      detail: probe && detailOf(probe),
      python,
    }));
  }

  private async complain(): Promise<string | undefined> {
    const browse = "Browse…";
    const picked = await vscode.window.showErrorMessage(
      "No Python interpreter was found. Install Python 3.9 or newer, or say where it is.",
      browse,
      "Open Settings",
    );
    if (picked === browse) {
      const python = await browseForPython();
      if (python !== undefined) await this.memory.update(CHOSEN, python);
      return python;
    }
    if (picked !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "zentracer.python");
    }
    return undefined;
  }
}

function detailOf(probe: Probe): string {
  if (!probe.isSupported) return `$(warning) too old for ZenTracer, which needs ${OLDEST}`;
  return [...(probe.frameworks ?? [])].join(", ");
}

interface Item extends vscode.QuickPickItem {
  readonly python: string | undefined;
}

/** An interpreter named in the settings; nothing if the setting is empty. */
export function settingOf(
  name: "python" | "adapterPython",
  folder: vscode.WorkspaceFolder | undefined,
): string | undefined {
  const value = vscode.workspace.getConfiguration("zentracer", folder).get<string>(name, "");
  return expanded(value, folder?.uri.fsPath, home) || undefined;
}

async function onPath(): Promise<string[]> {
  const py = launcher(machine);
  const known = py === undefined ? [] : await askedLauncher(py);
  return executables([...known, ...pathPythons(machine)]);
}

async function askedLauncher(py: string): Promise<string[]> {
  const [file] = await executables([py]);
  if (file === undefined) return [];
  try {
    return launcherPythons(await outputOf(file, ["-0p"]));
  } catch {
    return []; // a launcher that knows no Python ends with an error
  }
}

async function firstOf(files: readonly string[]): Promise<string | undefined> {
  return (await executables(files))[0];
}

async function browseForPython(): Promise<string | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ title: "Python interpreter" })) ?? [];
  return file?.fsPath;
}
