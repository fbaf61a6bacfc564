/** Registers the debugger: configurations, adapter, commands. */
import * as vscode from "vscode";
import { TYPE } from "../pure/configuration";
import { snippetsOf } from "../pure/snippets";
import { Adapters, Watchers, adapterPath } from "./adapter";
import { Configurations, debugFile } from "./configuration";
import { Interpreters } from "./interpreter";
import { addConfiguration } from "./launchJson";
import type { Log } from "./log";
import { Probes } from "./probes";
import { pickProcess } from "./processes";

export function register(context: vscode.ExtensionContext, log: Log): void {
  const probes = new Probes();
  const interpreters = new Interpreters(context.workspaceState, probes);
  const path = adapterPath(context);
  const commands: Record<string, (...args: never[]) => unknown> = {
    debugFile: (uri: vscode.Uri | undefined) => debugFile(uri),
    addConfiguration: () => addConfiguration(context),
    selectInterpreter: () => select(interpreters),
    openLog: () => log.show(),
    copyAdapterPath: () => copyAdapterPath(path),
    pickProcess,
  };
  context.subscriptions.push(
    vscode.debug.registerDebugConfigurationProvider(TYPE, new Configurations(interpreters, probes)),
    vscode.debug.registerDebugConfigurationProvider(
      TYPE,
      { provideDebugConfigurations: () => dynamicConfigurations(context) },
      vscode.DebugConfigurationProviderTriggerKind.Dynamic,
    ),
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Adapters(path, log)),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, new Watchers(log)),
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`zentracer.${name}`, run),
    ),
  );
}

/** What the Run view offers below “ZenTracer…”: all that needs nothing to be filled in. */
function dynamicConfigurations(context: vscode.ExtensionContext): vscode.DebugConfiguration[] {
  const bodies = snippetsOf(context.extension.packageJSON).map((snippet) => snippet.body);
  const complete = bodies.filter(
    ({ module, connect, zentracer }) => (module ?? connect ?? zentracer) === undefined,
  );
  const ranks = bodies.filter(({ module }) => module === "torch.distributed.run");
  return [...complete, ...ranks] as unknown as vscode.DebugConfiguration[];
}

async function select(interpreters: Interpreters): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const own = uri && vscode.workspace.getWorkspaceFolder(uri);
  const python = await interpreters.select(own ?? vscode.workspace.workspaceFolders?.[0]);
  if (python !== undefined) {
    void vscode.window.showInformationMessage(`ZenTracer debugs with ${python}.`);
  }
}

async function copyAdapterPath(path: string): Promise<void> {
  await vscode.env.clipboard.writeText(path);
  void vscode.window.showInformationMessage(
    'The path is in the clipboard. Put it into launch.json as "debugAdapterPath" of a ' +
      "“debugpy” configuration.",
  );
}
