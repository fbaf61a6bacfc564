/** Where things are written down: our own channel, and what the adapter leaves behind. */
import * as vscode from "vscode";
import { mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { whatWentWrong } from "../pure/adapterCommand";

const NAME = "ZenTracer";
const CHANNEL_FILE = `${NAME}.log`;
const ERRORS_FILE = "adapter-errors.log";

/** More than any traceback, less than what would be slow to read. */
const TAIL_BYTES = 64 * 1024;

export class Log implements vscode.Disposable {
  readonly channel = vscode.window.createOutputChannel(NAME, { log: true });
  /** The adapter appends what goes wrong in it. */
  readonly errorsFile: string;
  private readonly folder: string;

  constructor(uri: vscode.Uri) {
    this.folder = uri.fsPath;
    this.errorsFile = join(this.folder, ERRORS_FILE);
  }

  /** Makes sure that there is a folder; returns it if messages are to be written there. */
  async prepare(): Promise<string | undefined> {
    await mkdir(this.folder, { recursive: true });
    const trace = vscode.workspace.getConfiguration("zentracer").get<boolean>("trace", false);
    return trace ? this.folder : undefined;
  }

  /** Size of the errors file, to tell later what is new in it. */
  async errorsSize(): Promise<number> {
    try {
      return (await stat(this.errorsFile)).size;
    } catch {
      return 0; // nothing has gone wrong yet
    }
  }

  /** What the adapter has added to the errors file since it had that size. */
  async errorsSince(size: number): Promise<string> {
    const now = await this.errorsSize();
    if (now <= size) return "";
    const start = Math.max(size, now - TAIL_BYTES);
    const file = await open(this.errorsFile);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(now - start), 0, now - start, start);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** Shows what there is: the adapter's errors and transcripts, or else our channel. */
  async show(): Promise<void> {
    const files = await this.files();
    const [only] = files;
    if (only === undefined) this.channel.show();
    else if (files.length === 1) await openText(join(this.folder, only));
    else await this.pick(files);
  }

  dispose(): void {
    this.channel.dispose();
  }

  /** Files in which something stands, without the one that is our channel's. */
  private async files(): Promise<string[]> {
    try {
      const names = (await readdir(this.folder)).filter((name) => name.endsWith(".log"));
      const transcripts = names.filter((name) => name !== CHANNEL_FILE && name !== ERRORS_FILE);
      const hasErrors = whatWentWrong(await this.errorsSince(0)) !== undefined;
      return [...(hasErrors ? [ERRORS_FILE] : []), ...transcripts.sort()];
    } catch {
      return []; // no session has started yet
    }
  }

  private async pick(files: readonly string[]): Promise<void> {
    const channel = "Messages of the extension";
    const title = `Logs in ${this.folder}`;
    const picked = await vscode.window.showQuickPick([channel, ...files], { title });
    if (picked === channel) this.channel.show();
    else if (picked !== undefined) await openText(join(this.folder, picked));
  }
}

async function openText(file: string): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.file(file), { preview: true });
}
