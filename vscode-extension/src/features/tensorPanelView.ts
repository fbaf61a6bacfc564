/** One Tensor panel: an expression, the frame it is read in, and the page that shows it. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import {
  type Action,
  OTHER_VERSION,
  readToHost,
  send,
  type Settings,
  type ToHost,
  type ToPanel,
} from "../pure/panelMessages";
import { PanelQueries } from "../pure/panelQueries";
import { COLOUR_CHOICES } from "../pure/tensorColours";
import { pageHtml } from "../pure/tensorHtml";
import type { Situation } from "../pure/tensorSituation";
import { refuse } from "./patchesStore";
import type { Look, TensorFrames } from "./tensorFrames";

const COMMANDS: Readonly<Record<Action, string>> = {
  breakWhenChanged: "zentracer.breakWhenChanged",
  startDebugging: "workbench.action.debug.start",
  copyAdapterPath: "zentracer.copyAdapterPath",
  changeTensor: "zentracer.changeTensor",
};

const WENT_ON = "The program went on before this could be";

export class TensorPanelView {
  private pinned: Look | "nothing" | undefined;
  private shownLook: Look | undefined;
  /** Changes to the program when the page last read. */
  private shownPatches: ReadonlyMap<number, unknown> | undefined;
  private generation = 0;
  /** The first generation of the look that is shown: a change for an older one is of another frame. */
  private lookSince = 0;
  private posted = "";
  private isClosed = false;
  private readonly queries = new PanelQueries();

  constructor(
    readonly panel: vscode.WebviewPanel,
    readonly expression: string,
    private readonly extension: vscode.Uri,
    private readonly sessions: Sessions,
    private readonly frames: TensorFrames,
  ) {
    panel.title = expression;
    panel.webview.options = {
      enableScripts: true,
      localResourceRoots: [
        vscode.Uri.joinPath(extension, "dist"),
        vscode.Uri.joinPath(extension, "media"),
      ],
    };
    panel.webview.onDidReceiveMessage((data: unknown) => {
      this.receive(data);
    });
    panel.onDidChangeViewState(() => {
      this.update();
    });
    panel.onDidDispose(() => {
      this.isClosed = true;
    });
    this.load();
  }

  get isPinned(): boolean {
    return this.pinned !== undefined;
  }

  /** Tells the page where the program is; a hidden page reads nothing. */
  update(): void {
    if (!this.panel.visible) return;
    const look = this.look();
    const patches = look?.session.root.patches;
    const isOther = look !== this.shownLook;
    if (isOther || (patches !== this.shownPatches && !this.isPinned)) {
      this.shownLook = look;
      this.shownPatches = patches;
      this.generation++;
      if (isOther) this.lookSince = this.generation;
    }
    const situation = this.situation(look);
    const text = JSON.stringify(situation);
    if (text === this.posted) return;
    this.posted = text;
    this.post({ type: "situation", situation });
  }

  updateSettings(): void {
    this.post({ type: "settings", settings: readSettings() });
  }

  private load(): void {
    this.posted = "";
    const { webview } = this.panel;
    const file = (name: string): string =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.extension, "dist", "webviews", name)).toString();
    webview.html = pageHtml({
      title: this.expression,
      source: webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
      script: file("tensor.js"),
      style: file("tensor.css"),
      data: { expression: this.expression },
    });
  }

  private look(): Look | undefined {
    if (this.pinned === "nothing") return undefined;
    return this.pinned ?? this.frames.look;
  }

  private situation(look: Look | undefined): Situation {
    const { state, type } = this.frames.program;
    return {
      state,
      type,
      generation: this.generation,
      expression: this.expression,
      where: look?.where ?? "",
      pinned: this.isPinned,
      readable: look !== undefined && this.frames.isAlive(look),
    };
  }

  private receive(data: unknown): void {
    const message = readToHost(data);
    if (message === "otherVersion") this.post({ type: "failure", id: 0, message: OTHER_VERSION });
    else if (message) this.take(message);
  }

  private take(message: ToHost): void {
    switch (message.type) {
      case "ready":
        this.posted = "";
        this.queries.reset();
        this.updateSettings();
        this.update();
        return;
      case "query":
        void this.answer(message);
        return;
      case "change":
        void this.change(message);
        return;
      case "cancel":
        this.queries.cancel(message.id);
        return;
      case "pin":
        this.pinned = message.pinned ? (this.frames.look ?? "nothing") : undefined;
        this.update();
        return;
      case "refresh":
        this.generation++;
        this.update();
        return;
      case "copy":
        void vscode.env.clipboard.writeText(message.text);
        return;
      case "action":
        void vscode.commands.executeCommand(COMMANDS[message.action], this.watched(message.action));
        return;
      case "reload":
        this.load();
    }
  }

  /** The tensor that a button is about: what is watched, or changed. */
  private watched(action: Action): object | undefined {
    if (action !== "breakWhenChanged" && action !== "changeTensor") return undefined;
    const look = this.look();
    const where = look && { frameId: look.frameId, sessionId: look.session.debug.id };
    return { expression: this.expression, ...where };
  }

  private async answer(message: Extract<ToHost, { type: "query" }>): Promise<void> {
    const { id } = message;
    const isWanted = this.queries.begin(id);
    try {
      const body = await this.ask(message);
      if (isWanted()) this.post({ type: "answer", id, body });
    } catch (error) {
      const sentence = error instanceof Error ? error.message : String(error);
      if (isWanted()) this.post({ type: "failure", id, message: sentence });
    }
  }

  /** Changes a part; the page reads again once the list of changes has come. */
  private async change(message: Extract<ToHost, { type: "change" }>): Promise<void> {
    const { id, slice, value } = message;
    let problem: string | null = null;
    try {
      const look = this.shownLook;
      if (!look || message.generation < this.lookSince || !this.frames.isAlive(look)) {
        throw new Error(`${WENT_ON} changed.`);
      }
      const target = this.expression;
      const args = { target, op: "set", slice: slice || null, value, frame_id: look.frameId };
      refuse(await this.sessions.request(look.session, "apply_patch", args));
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    this.post({ type: "changed", id, problem });
    if (problem !== null || !this.isPinned) return;
    this.generation++; // a pinned panel stays as it is, but for what is changed in it
    this.update();
  }

  private async ask(message: Extract<ToHost, { type: "query" }>) {
    const look = this.shownLook;
    if (!look || message.generation !== this.generation || !this.frames.isAlive(look)) {
      throw new Error(`${WENT_ON} read.`);
    }
    return await this.sessions.request(look.session, "tensor", {
      ...message.query,
      expression: this.expression,
      frame_id: look.frameId,
    });
  }

  private post(message: ToPanel): void {
    if (this.isClosed) return; // an answer may come after the panel
    void this.panel.webview.postMessage(send(message));
  }
}

function readSettings(): Settings {
  const settings = vscode.workspace.getConfiguration("zentracer.tensor");
  const wanted = settings.get<string>("colorMap");
  return {
    colourMap: COLOUR_CHOICES.find((choice) => choice === wanted) ?? "auto",
    maxRows: rowsWithin(settings.get<unknown>("maxRows")),
  };
}

/** settings.json takes any value; the bounds are those in package.json. */
function rowsWithin(value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) return 100;
  return Math.max(10, Math.min(1000, Math.round(value)));
}
