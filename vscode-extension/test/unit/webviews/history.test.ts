import { afterEach, describe, expect, test } from "vitest";
import {
  chartOf,
  describe as describeChart,
  hasHistory,
  nearest,
  pointText,
} from "../../../src/pure/tensorHistory";
import type { History, HistoryPoint } from "../../../src/wire/generated";
import { Panel } from "./panel";
import { recorded } from "./recorded";

function point(part: Partial<HistoryPoint>): HistoryPoint {
  return {
    time: 0,
    value: 0,
    stop: null,
    step: null,
    line: null,
    low: null,
    high: null,
    std: null,
    norm: null,
    bad: 0,
    ...part,
  };
}

function history(points: readonly Partial<HistoryPoint>[], part: Partial<History> = {}): History {
  return {
    kind: "tensor",
    path: "/project/train.py",
    points: points.map(point),
    sampled: false,
    note: null,
    ...part,
  };
}

const WEIGHTS = history([
  { stop: 1, step: 40, line: 12, value: 1, std: 0.5, low: -1, high: 3, norm: 8 },
  { step: 41, value: 2, std: 0.5, low: 0, high: 4, norm: 16 },
  { step: 42, value: null, bad: 4096 },
  { stop: 2, step: 42, line: 14, value: 3, std: 0.25, low: 1, high: 5, norm: 24, bad: 2 },
]);

describe("a chart", () => {
  test("lies at steps, a stop within a step before the next one", () => {
    const chart = chartOf(WEIGHTS, "deviation");
    expect([chart.axis, chart.xs]).toEqual(["step", [40, 41, 42, 42.5]]);
    expect(chart.ys).toEqual([1, 2, Number.NaN, 3]);
    expect(chart.lows).toEqual([0.5, 1.5, Number.NaN, 2.75]);
    expect(chart.highs).toEqual([1.5, 2.5, Number.NaN, 3.25]);
    expect(chart.range).toEqual({ low: 0.5, high: 3.25 });
  });

  test("shows the range or the norm on request", () => {
    expect(chartOf(WEIGHTS, "range").highs).toEqual([3, 4, Number.NaN, 5]);
    const norm = chartOf(WEIGHTS, "norm");
    expect([norm.ys, norm.lows]).toEqual([[8, 16, Number.NaN, 24], []]);
  });

  test("lies at stops where no steps are seen, else in order", () => {
    const stops = history([{ stop: 3 }, { stop: 7 }]);
    expect([chartOf(stops, "norm").axis, chartOf(stops, "norm").xs]).toEqual(["stop", [3, 7]]);
    const still = history([{ stop: 3, step: 0 }, { stop: 4, step: 0 }]);
    expect([chartOf(still, "norm").axis, chartOf(still, "norm").xs]).toEqual(["stop", [3, 4]]);
    const mixed = history([{ stop: 3 }, { step: 1 }]);
    expect([chartOf(mixed, "norm").axis, chartOf(mixed, "norm").xs]).toEqual(["point", [1, 2]]);
  });

  test("of a number is its value, without a band", () => {
    const chart = chartOf(history([{ value: 1 }, { value: 4 }], { kind: "scalar" }), "norm");
    expect([chart.ys, chart.lows, chart.range]).toEqual([[1, 4], [], { low: 1, high: 4 }]);
  });

  test("of nothing finite has bounds all the same", () => {
    const odd = history([{ value: null, step: 1 }, { value: null, step: 2 }]);
    expect(chartOf(odd, "deviation").range).toEqual({ low: 0, high: 1 });
    expect(describeChart(odd, chartOf(odd, "deviation"), "deviation")).toContain("none of them finite");
  });

  test("takes one point more than one", () => {
    expect([hasHistory(null), hasHistory(history([{}])), hasHistory(history([{}, {}]))]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("knows the nearest point", () => {
    const chart = chartOf(WEIGHTS, "deviation");
    expect([-5, 40.6, 42.1, 42.3, 99].map((x) => nearest(chart, x))).toEqual([0, 1, 2, 3, 3]);
  });

  test("says its numbers", () => {
    expect(pointText(WEIGHTS, 0)).toBe(
      "step 40 · mean 1 ± 0.5 · −1 … 3 · norm 8 · stop 1 at train.py:12",
    );
    expect(pointText(WEIGHTS, 2)).toBe("step 42 · NaN or Inf 4,096");
    const number = history([{ value: 0.25, stop: 1, line: 3 }], { kind: "scalar", path: "C:\\a\\b.py" });
    expect(pointText(number, 0)).toBe("0.25 · stop 1 at b.py:3");
    expect(describeChart(WEIGHTS, chartOf(WEIGHTS, "deviation"), "deviation")).toBe(
      "History of the mean: 4 points, 2 of them stops, step 40 to step 42. From 1 to 3; " +
        "lowest 1, highest 3. Arrow keys move between points.",
    );
  });
});

function panel(shown: History): Panel {
  return new Panel((query) => {
    if (query.view === "history") return { ...recorded("logits.stats"), view: "history", history: shown };
    return recorded(query.view === "stats" ? "logits.stats" : "logits.image");
  });
}

async function press(page: Panel, key: string): Promise<void> {
  page.find("zt-history-plot canvas").dispatchEvent(new KeyboardEvent("keydown", { key }));
  await page.settle();
}

describe("the section of the panel", () => {
  afterEach(() => {
    document.body.replaceChildren();
  });

  test("is there from the second point on", async () => {
    const page = panel(history([{ stop: 1 }]));
    await page.situate();
    expect(page.all("zt-history-plot")).toEqual([]);
  });

  test("is walked by the arrow keys, and says each point", async () => {
    const page = panel(WEIGHTS);
    await page.situate();
    expect(page.find("zt-history-plot canvas").getAttribute("aria-label")).toContain("4 points");
    expect(page.text).toContain("dots are stops");
    await press(page, "ArrowRight");
    expect(page.text).toContain("stop 1 at train.py:12");
    await press(page, "End");
    expect(page.text).toContain("stop 2 at train.py:14");
  });

  test("says why there are stops only", async () => {
    const page = panel({ ...WEIGHTS, note: "Steps are not seen.", sampled: true });
    await page.situate();
    expect(page.text).toContain("Steps are not seen.");
    expect(page.text).toContain("sampled");
  });

  test("stays folded once it is folded", async () => {
    const page = panel(WEIGHTS);
    await page.situate();
    const details = page.find("zt-history-view details") as HTMLDetailsElement;
    details.open = false;
    details.dispatchEvent(new Event("toggle"));
    await page.settle();
    expect(page.all("zt-history-plot")).toEqual([]);
    expect(page.saved?.view.history).toBe(false);
  });

  test("leaves the rest as it is when the history cannot be had", async () => {
    const page = new Panel((query) => {
      if (query.view === "history") return "No history.";
      return recorded(query.view === "stats" ? "logits.stats" : "logits.image");
    });
    await page.situate();
    expect(page.text).not.toContain("No history.");
    expect(page.find("zt-picture")).toBeDefined();
  });
});
