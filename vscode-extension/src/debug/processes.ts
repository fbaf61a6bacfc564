/** Lets the user pick a process to attach to. */
import * as vscode from "vscode";
import { readFile, readdir } from "node:fs/promises";
import {
  type RunningProcess,
  commandOf,
  listCommand,
  parseProcesses,
  pythonProcesses,
} from "../pure/processes";
import { outputOf } from "./machine";

/** Returns the process's number as text, as launch.json's variables want it. */
export async function pickProcess(): Promise<string | undefined> {
  const items = running().then((all) =>
    pythonProcesses(all, process.pid).map(({ pid, command }) => ({
      label: String(pid),
      description: command,
    })),
  );
  if ((await items).length === 0) {
    void vscode.window.showInformationMessage("No Python process is running on this machine.");
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, {
    title: "Attach to a Python process",
    matchOnDescription: true,
  });
  return picked?.label;
}

async function running(): Promise<RunningProcess[]> {
  if (process.platform === "linux") return fromProc(); // containers may lack ps
  const [command = "", ...args] = listCommand(process.platform);
  return parseProcesses(await outputOf(command, args));
}

async function fromProc(): Promise<RunningProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map(async (pid) => ({ pid: Number(pid), command: await commandLine(pid) })));
}

async function commandLine(pid: string): Promise<string> {
  try {
    return commandOf(await readFile(`/proc/${pid}/cmdline`, "utf8"));
  } catch {
    return ""; // it has ended in the meantime
  }
}
