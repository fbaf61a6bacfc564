/**
 * “Break When Value Changes” and “Break When NaN”, from Variables, Watch, the editor and the Tensor
 * panel.
 *
 * VS Code sets data breakpoints only from its own menus, and none with a condition; so there is a
 * list of ours beside its own, which the adapter joins. Where its own entry “Break on Value Change”
 * is offered, ours is not.
 */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import {
  type DataInfo,
  type DataItem,
  NAN_CONDITION,
  type Watched,
  dataChanges,
  dataListOf,
  dataStateOf,
  nameOf,
  readDataInfo,
  watchedOf,
} from "../pure/dataBreakpoints";
import { inspected } from "../pure/inspectArgument";
import { expressionInEditor } from "./inspectTensor";

export class DataBreakpoints {
  /** The change that is under way: the next begins with what it led to. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly sessions: Sessions) {}

  register(): vscode.Disposable[] {
    const on = (name: string, condition: string | null): vscode.Disposable =>
      vscode.commands.registerCommand(`zentracer.${name}`, (argument: unknown) =>
        this.add(argument, condition),
      );
    return [on("breakWhenChanged", null), on("breakWhenNan", NAN_CONDITION)];
  }

  /** Those of the run that the user looks at, with their processes. */
  mine(): readonly { readonly pid: number; readonly item: DataItem }[] {
    const states = this.sessions.active()?.root.dataBreakpoints ?? [];
    const pids = new Set(states.map((state) => state.pid));
    return [...pids].flatMap((pid) => dataListOf(states, pid).map((item) => ({ pid, item })));
  }

  /** Changes the list of one process; settles when the program has taken it. */
  async change(pid: number, next: (list: readonly DataItem[]) => readonly DataItem[]): Promise<void> {
    const changed = this.last.then(async () => {
      const session = this.sessionOf(pid);
      if (!session) throw new Error("The process of this breakpoint has ended.");
      const list = dataListOf(session.root.dataBreakpoints, pid);
      await this.sessions.request(session, "set_data_breakpoints", { breakpoints: [...next(list)] });
    });
    this.last = changed.catch(() => undefined); // who asked for it is told
    await changed;
  }

  /** Why the program does not take one of a list, if it does not. */
  refusal(pid: number, item: DataItem): string | undefined {
    const states = this.sessions.active()?.root.dataBreakpoints ?? [];
    const state = dataStateOf(states, pid, item);
    return state && state.enabled && !state.verified ? (state.message ?? undefined) : undefined;
  }

  private sessionOf(pid: number): ZenSession | undefined {
    return this.sessions.all().find((session) => session.pid === pid);
  }

  private async add(argument: unknown, condition: string | null): Promise<void> {
    try {
      const watched = watchedOf(argument) ?? inEditor(argument) ?? (await askWhat(condition));
      if (watched) await this.addFor(watched, condition);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      void vscode.window.showWarningMessage(`No breakpoint was set: ${why}`);
    }
  }

  private async addFor(watched: Watched, condition: string | null): Promise<void> {
    const session = this.sessionFor(watched);
    if (!session) throw new Error("no program is being debugged.");
    const info = await ask(session, watched);
    if (info.dataId === undefined) throw new Error(info.description);
    const { pid } = session;
    if (pid === undefined) throw new Error("the program has not told its process yet.");
    const item: DataItem = {
      data_id: info.dataId,
      name: info.description,
      condition,
      hit_condition: null,
      enabled: true,
    };
    await this.change(pid, (list) => dataChanges.withAdded(list, item));
    const problem = this.refusal(pid, item);
    if (problem !== undefined) throw new Error(problem);
    const when = condition === null ? "changes" : "gets a NaN";
    void tell(`The program stops at the line where ${nameOf(info.description)} ${when}.`);
  }

  private sessionFor({ sessionId }: Watched): ZenSession | undefined {
    const all = this.sessions.all();
    const named = all.find((session) => session.debug.id === sessionId);
    return named ?? this.sessions.of(vscode.debug.activeStackItem?.session) ?? this.sessions.active();
  }
}

async function ask(session: ZenSession, watched: Watched): Promise<DataInfo> {
  const { name, variablesReference, frameId } = watched;
  const item = vscode.debug.activeStackItem;
  const looked = item && "frameId" in item && item.session.id === session.debug.id;
  const frame = frameId ?? (looked ? item.frameId : undefined);
  const where =
    variablesReference === undefined ? frame !== undefined && { frameId: frame } : { variablesReference };
  const body: unknown = await session.debug.customRequest("dataBreakpointInfo", { name, ...where });
  return readDataInfo(body);
}

/** The editor's menu means the selection, or the name under the cursor. */
function inEditor(argument: unknown): Watched | undefined {
  const name = inspected(argument).from === "editor" ? expressionInEditor() : undefined;
  return name === undefined ? undefined : { name };
}

async function askWhat(condition: string | null): Promise<Watched | undefined> {
  const typed = await vscode.window.showInputBox({
    title: condition === null ? "Break When Value Changes" : "Break When NaN",
    prompt: "A tensor, an element or a slice, as the stopped frame calls it.",
    placeHolder: "self.layers[0].weight[3, :]",
    value: expressionInEditor() ?? "",
  });
  const name = typed?.trim();
  return name ? { name } : undefined;
}

async function tell(message: string): Promise<void> {
  const show = "Show Breakpoint";
  const chosen = await vscode.window.showInformationMessage(message, show);
  if (chosen === show) await vscode.commands.executeCommand("zentracer.breakpoints.focus");
}
