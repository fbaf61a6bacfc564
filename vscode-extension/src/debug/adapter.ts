/** Starts the debug adapter, and says so when it dies. */
import * as vscode from "vscode";
import { join } from "node:path";
import { adapterCommand, childAddress, whatWentWrong } from "../pure/adapterCommand";
import { isRecord } from "../pure/guards";
import { changedAt } from "./machine";
import type { Log } from "./log";

const LOG = "Open Log";
const RESTART = "Restart";

/** Folder with the adapter, also for `debugAdapterPath` of the stock Python extension. */
export function adapterPath(context: vscode.ExtensionContext): string {
  const isDevelopment = context.extensionMode === vscode.ExtensionMode.Development;
  return isDevelopment
    ? join(context.extensionPath, "..", "zentracer_dap")
    : join(context.extensionPath, "bundled", "zentracer_dap");
}

export class Adapters implements vscode.DebugAdapterDescriptorFactory {
  constructor(
    private readonly path: string,
    private readonly log: Log,
  ) {}

  async createDebugAdapterDescriptor(
    session: vscode.DebugSession,
  ): Promise<vscode.DebugAdapterDescriptor> {
    const child = childAddress(session.configuration);
    if (child) return new vscode.DebugAdapterServer(child.port, child.host);
    if ((await changedAt(this.path)) === undefined) {
      throw new Error(`The extension is incomplete: ${this.path} is missing. Install it again.`);
    }
    const traceFolder = await this.log.prepare();
    const { errorsFile, channel } = this.log;
    const start = adapterCommand(session.configuration, this.path, errorsFile, traceFolder);
    if (!start) throw new Error("No Python interpreter is known for the debug adapter.");
    channel.info(`adapter: ${start.command} ${start.args.join(" ")}`);
    return new vscode.DebugAdapterExecutable(start.command, [...start.args]);
  }
}

/** Watches the adapters that we started. */
export class Watchers implements vscode.DebugAdapterTrackerFactory {
  constructor(private readonly log: Log) {}

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker | undefined {
    return childAddress(session.configuration) ? undefined : new Watcher(session, this.log);
  }
}

class Watcher implements vscode.DebugAdapterTracker {
  private readonly size: Promise<number>;
  /** Whether the end is wanted, by the program or by the user. */
  private isEnding = false;
  private isReported = false;

  constructor(
    private readonly session: vscode.DebugSession,
    private readonly log: Log,
  ) {
    this.size = log.errorsSize();
  }

  onWillReceiveMessage(message: unknown): void {
    if (isRecord(message) && message["command"] === "disconnect") this.isEnding = true;
  }

  onDidSendMessage(message: unknown): void {
    if (isRecord(message) && message["event"] === "terminated") this.isEnding = true;
  }

  onError(error: Error): void {
    void this.report(error.message);
  }

  onExit(code: number | undefined, signal: string | undefined): void {
    void this.report(signal ? `signal ${signal}` : `exit code ${String(code ?? "unknown")}`);
  }

  /** Once a session, with the last thing that the adapter had to say. */
  private async report(how: string): Promise<void> {
    if (this.isEnding || this.isReported) return;
    this.isReported = true;
    const said = whatWentWrong(await this.log.errorsSince(await this.size)) ?? how;
    this.log.channel.error(`the adapter of “${this.session.name}” ended: ${how}; ${said}`);
    const text = `ZenTracer's debug adapter of “${this.session.name}” ended: ${said.replace(/\.$/, "")}. Its log: ${this.log.errorsFile}`;
    const picked = await vscode.window.showErrorMessage(text, LOG, RESTART);
    if (picked === LOG) await this.log.show();
    else if (picked === RESTART) await restart(this.session);
  }
}

/** Starts again what was started, with the same configuration. */
async function restart(session: vscode.DebugSession): Promise<void> {
  await vscode.debug.startDebugging(session.workspaceFolder, session.configuration);
}
