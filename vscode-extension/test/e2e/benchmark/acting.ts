/// <reference lib="dom" />
/** From an action in the Tensor panel to the frame in which its answer is drawn. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Editor } from "../harness/editor.ts";
import { repository } from "../harness/places.ts";

const PROGRAM = "big_tensor.py";
const FILE = join(repository, "benchmarks/programs", PROGRAM);

type Lane = "heat" | "histogram" | "values";

/** What is clicked or typed into, and whose answer is waited for. */
interface Action {
  readonly name: string;
  readonly on: string;
  readonly value?: string;
  readonly lane: Lane;
}

/** All of a round need an answer of the program: another slice, then each view of it. */
function actions(round: number): Action[] {
  return [
    { name: "another slice", on: "input[type=number]", value: String((round % 7) + 1), lane: "heat" },
    { name: "values", on: "#tab-values", lane: "values" },
    { name: "histogram", on: "#tab-histogram", lane: "histogram" },
    { name: "heat map again", on: "#tab-heat", lane: "heat" },
  ];
}

export interface Acts {
  /** Milliseconds, one a round. */
  panel: Record<string, number[]>;
  opening: number[];
  nextStop: number[];
  activation: { loaded: number; activated: number };
}

export async function measureActs(rounds: number): Promise<Acts> {
  const editor = await Editor.start({ name: "acting", files: [FILE] });
  try {
    await stopAtLook(editor);
    const acts: Acts = { panel: {}, opening: [], nextStop: [], activation: activation(editor) };
    for (let round = 0; round < rounds; round++) {
      acts.opening.push(await timeToOpen(editor, "images"));
      for (const action of actions(round)) {
        (acts.panel[action.name] ??= []).push(await timeOf(editor, action));
      }
      acts.nextStop.push(await timeFromStop(editor));
      await editor.workbench.closeTab("images");
    }
    return acts;
  } catch (error) {
    await editor.screenshot("failure");
    throw error;
  } finally {
    await editor.stop();
  }
}

async function stopAtLook(editor: Editor): Promise<void> {
  const lines = readFileSync(FILE, "utf8").split("\n");
  const line = lines.findIndex((text) => text.includes("# @look")) + 1;
  await editor.debug.toggleBreakpoint(PROGRAM, line);
  await editor.debug.start(PROGRAM);
  await editor.debug.showView();
  await editor.debug.stoppedAt(PROGRAM, line);
}

/** From the click on “Inspect Tensor” until the statistics and the picture are there. */
async function timeToOpen(editor: Editor, name: string): Promise<number> {
  const row = await editor.debug.variable(name);
  await row.hover();
  const button = row.locator("[aria-label^='Inspect Tensor']");
  await button.waitFor();
  const start = performance.now();
  await button.click();
  await editor.panel.content.locator("zt-picture canvas").waitFor();
  return performance.now() - start;
}

/** What of the panel's element is looked at here. */
interface App extends Element {
  store: { situation: { generation: number }; lanes: Record<Lane | "stats", { current: boolean; busy: boolean }> };
  updateComplete: Promise<unknown>;
}

function timeOf(editor: Editor, action: Action): Promise<number> {
  return editor.panel.content.locator("zt-tensor").evaluate(async (element, { on, value, lane }) => {
    const app = element as unknown as App;
    const find = (root: Element | ShadowRoot): HTMLElement | undefined => {
      const found = root.querySelector<HTMLElement>(on);
      if (found) return found;
      for (const child of root.querySelectorAll("*")) {
        const below = child.shadowRoot && find(child.shadowRoot);
        if (below) return below;
      }
      return undefined;
    };
    const target = app.shadowRoot && find(app.shadowRoot);
    if (!target) throw new Error(`${on} is not in the panel`);
    const hung = performance.now() + 30_000;
    const frame = (): Promise<number> => {
      if (performance.now() > hung) throw new Error(`no answer to ${on}`);
      return new Promise(requestAnimationFrame);
    };
    const lanes = Object.values(app.store.lanes);
    while (lanes.some((one) => one.busy)) await frame(); // of the action before
    const start = performance.now();
    if (value === undefined) target.click();
    else {
      (target as HTMLInputElement).value = value;
      target.dispatchEvent(new Event("change", { bubbles: true }));
      await frame(); // the slice picker makes one change a frame
    }
    while (!app.store.lanes[lane].current) await frame();
    await app.updateComplete;
    await frame();
    return performance.now() - start;
  }, action);
}

/** From the news of the next stop until the panel shows its numbers and its picture. */
async function timeFromStop(editor: Editor): Promise<number> {
  const time = editor.panel.content.locator("zt-tensor").evaluate(async (element) => {
    const app = element as unknown as App;
    const hung = performance.now() + 60_000;
    const frame = (): Promise<number> => {
      if (performance.now() > hung) throw new Error("no news of the next stop");
      return new Promise(requestAnimationFrame);
    };
    const { generation } = app.store.situation;
    while (app.store.situation.generation === generation) await frame();
    const start = performance.now();
    while (!app.store.lanes.stats.current || !app.store.lanes.heat.current) await frame();
    await app.updateComplete;
    await frame();
    return performance.now() - start;
  });
  await editor.debug.continue();
  return time;
}

/** What the extension's log says of its own start. */
function activation(editor: Editor): Acts["activation"] {
  const logs = join(dirname(editor.folder), "user/logs");
  const files = readdirSync(logs, { recursive: true, encoding: "utf8" });
  const file = files.find((name) => name.endsWith("ZenTracer.log"));
  const said = file === undefined ? "" : readFileSync(join(logs, file), "utf8");
  const found = /loaded in ([\d.]+) ms, activated in ([\d.]+) ms/.exec(said);
  if (!found) throw new Error(`the extension's log says nothing of its start: ${said}`);
  return { loaded: Number(found[1]), activated: Number(found[2]) };
}
