/** A code-server of its own: own port, own settings, nothing of the user's. */
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { codeServer, editorNode, extensions } from "./places.ts";

export interface ServerOptions {
  /** Folder for the server's state; its path is short, because sockets lie in it. */
  state: string;
  /** File for what the server says. */
  log: string;
  settings: Record<string, unknown>;
  env?: Record<string, string>;
}

/** What keeps the screen still and the same on every machine. */
const QUIET = {
  "workbench.startupEditor": "none",
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "workbench.enableExperiments": false,
  "workbench.tips.enabled": false,
  "extensions.ignoreRecommendations": true,
  "editor.minimap.enabled": false,
  "workbench.hover.delay": 600_000,
  "workbench.editor.revealIfOpen": true,
  "window.confirmBeforeClose": "never",
  "files.simpleDialog.enable": true,
  "window.dialogStyle": "custom",
  "remote.autoForwardPorts": false,
};

export class CodeServer {
  readonly address: string;
  private readonly process: ChildProcess;

  private constructor(process: ChildProcess, address: string) {
    this.process = process;
    this.address = address;
  }

  static async start({ state, log, settings, env }: ServerOptions): Promise<CodeServer> {
    // Of a remote machine, an editor takes the paths of programs from the machine's settings only.
    for (const scope of ["User", "Machine"]) {
      const folder = join(state, "user", scope);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "settings.json"), JSON.stringify({ ...QUIET, ...settings }));
    }
    const child = spawn(
      editorNode,
      [
        codeServer,
        ...["--auth", "none", "--bind-addr", "127.0.0.1:0", "--config", join(state, "config.yaml")],
        ...["--user-data-dir", join(state, "user"), "--extensions-dir", extensions],
        "--disable-telemetry",
        "--disable-update-check",
        "--disable-workspace-trust",
      ],
      { detached: true, stdio: ["ignore", "pipe", "pipe"], env: environment(state, env) },
    );
    process.once("exit", () => end(child));
    try {
      return new CodeServer(child, await listening(child, log));
    } catch (error) {
      end(child);
      throw error;
    }
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    if (this.process.exitCode === null && this.process.signalCode === null) {
      end(this.process);
      await ended;
    }
  }
}

/** Nothing that a terminal of VS Code, in which the tests may run, has left in the environment. */
function environment(state: string, extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(VSCODE_|npm_|NODE_|VITEST)/.test(name));
  // Where its sockets go.
  return { ...Object.fromEntries(own), XDG_RUNTIME_DIR: state, ...extra };
}

function end(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid, "SIGTERM");
}

function listening(child: ChildProcess, log: string): Promise<string> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("code-server was started without pipes");
  const file = createWriteStream(log);
  stderr.pipe(file);
  return new Promise((resolve, reject) => {
    createInterface(stdout).on("line", (line) => {
      file.write(`${line}\n`);
      const found = /HTTP server listening on (http:\S+?)\/?$/.exec(line);
      if (found?.[1]) resolve(found[1]);
    });
    child.once("error", reject);
    child.once("exit", (code) => {
      reject(new Error(`code-server ended with ${String(code)}; see ${log}`));
    });
  });
}
