import { afterEach, describe, expect, test } from "vitest";
import type { ToHost } from "../../../src/pure/panelMessages";
import type { ViewQuery } from "../../../src/pure/tensorQueries";
import type { TensorView } from "../../../src/wire/generated";
import { Panel } from "./panel";
import { recorded } from "./recorded";

const LOGITS: Record<ViewQuery["view"], TensorView> = {
  stats: recorded("logits.stats"),
  image: recorded("logits.image"),
  page: recorded("logits.page"),
  histogram: recorded("logits.histogram"),
  history: { ...recorded("logits.stats"), view: "history" },
};

async function opened(tab: string): Promise<Panel> {
  const panel = new Panel((query) => LOGITS[query.view]);
  await panel.situate();
  panel.find(`#tab-${tab}`).click();
  await panel.settle();
  return panel;
}

function changes(panel: Panel): Extract<ToHost, { type: "change" }>[] {
  return panel.sent.filter((message) => message.type === "change");
}

async function press(panel: Panel, on: HTMLElement, key: string, more: KeyboardEventInit = {}): Promise<void> {
  on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, ...more }));
  await panel.settle();
}

function cell(panel: Panel, row: number, column: number): HTMLElement {
  return panel.find(`td[data-row="${row}"][data-column="${column}"]`);
}

async function type(panel: Panel, text: string): Promise<void> {
  const field = panel.find("zt-cell-input input") as HTMLInputElement;
  field.value = text;
  await press(panel, field, "Enter");
}

async function answer(panel: Panel, problem: string | null): Promise<void> {
  panel.receive({ type: "changed", id: changes(panel).at(-1)!.id, problem });
  await panel.settle();
}

afterEach(() => {
  document.body.replaceChildren();
});

describe("a cell", () => {
  test("is changed where it stands: double-click, type, Enter", async () => {
    const panel = await opened("values");
    cell(panel, 0, 3).dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    await panel.settle();
    expect((panel.find("zt-cell-input input") as HTMLInputElement).value).toBe("-2.25");
    await type(panel, "−0.5");
    expect(changes(panel)).toMatchObject([{ slice: "0, 3", value: "-0.5", generation: 1 }]);
    expect(panel.find("zt-cell-input input").hasAttribute("readonly")).toBe(true);
    await answer(panel, null);
    expect(panel.all("zt-cell-input")).toEqual([]);
  });

  test("says below the buttons what the program refused, and keeps what was typed", async () => {
    const panel = await opened("values");
    await press(panel, cell(panel, 0, 0), "Enter");
    await type(panel, "torch.zeros(3)");
    await answer(panel, "`logits[0, 0]` is float32[], and float32[3] does not broadcast to that.");
    expect(panel.find("zt-values zt-notice [role=alert], zt-notice [role=alert]").textContent).toContain(
      "does not broadcast",
    );
    const field = panel.find("zt-cell-input input") as HTMLInputElement;
    expect(field.value).toBe("torch.zeros(3)");
    await type(panel, "1");
    await answer(panel, null);
    expect(changes(panel)).toHaveLength(2);
    expect(panel.text).not.toContain("does not broadcast");
  });

  test("is left as it was by Escape, and by Enter without a value", async () => {
    const panel = await opened("values");
    await press(panel, cell(panel, 0, 0), "F2");
    await press(panel, panel.find("zt-cell-input input"), "Escape");
    expect(panel.all("zt-cell-input")).toEqual([]);
    await press(panel, cell(panel, 0, 0), "Enter");
    await type(panel, " ");
    expect(panel.all("zt-cell-input")).toEqual([]);
    expect(changes(panel)).toEqual([]);
  });

  test("of a selection stands for all of it", async () => {
    const panel = await opened("values");
    await press(panel, cell(panel, 0, 0), "ArrowDown", { shiftKey: true });
    await press(panel, cell(panel, 1, 0), "ArrowRight", { shiftKey: true });
    await press(panel, cell(panel, 1, 1), "Enter");
    expect(panel.find("zt-cell-input input").getAttribute("aria-label")).toBe("New value of 4 elements");
    await type(panel, "nan");
    expect(changes(panel)).toMatchObject([{ slice: "0:2, 0:2", value: 'float("nan")' }]);
  });

  test("cannot be changed while the program runs, and says so", async () => {
    const panel = await opened("values");
    await panel.situate({ state: "running", readable: false });
    await press(panel, cell(panel, 0, 0), "Enter");
    expect(panel.all("zt-cell-input")).toEqual([]);
    expect(panel.text).toContain("The program can be changed while it stands still");
  });
});

describe("painting in the heat map", () => {
  const detail = { rows: { start: 0, stop: 2 }, columns: { start: 1, stop: 3 } };

  async function brush(panel: Panel): Promise<void> {
    const toggle = panel.find('[label^="Paint"]') as HTMLElement & { checked: boolean };
    toggle.checked = true;
    toggle.dispatchEvent(new Event("change"));
    await panel.settle();
  }

  test("sets what a drag goes over, one change a stroke", async () => {
    const panel = await opened("heat");
    await brush(panel);
    const value = panel.find('[aria-label="Value to paint"]') as HTMLInputElement;
    value.value = "0.25";
    value.dispatchEvent(new Event("input"));
    const picture = panel.find("zt-picture");
    expect(picture).toMatchObject({ paints: true });
    picture.dispatchEvent(new CustomEvent("zt-paint", { detail }));
    picture.dispatchEvent(new CustomEvent("zt-paint", { detail }));
    expect(changes(panel)).toMatchObject([{ slice: "0:2, 1:3", value: "0.25" }]);
    await answer(panel, "The gradient of `logits` needs it: backward would fail.");
    expect(panel.find("zt-notice [role=alert]").textContent).toContain("backward would fail");
    picture.dispatchEvent(new CustomEvent("zt-paint", { detail }));
    expect(changes(panel)).toHaveLength(2);
  });

  test("is off at first, and while the program runs", async () => {
    const panel = await opened("heat");
    expect(panel.find("zt-picture")).toMatchObject({ paints: false });
    await brush(panel);
    await panel.situate({ state: "running", readable: false });
    expect(panel.find("zt-picture")).toMatchObject({ paints: false });
    expect(panel.all('[label^="Paint"]')).toEqual([]);
  });
});
