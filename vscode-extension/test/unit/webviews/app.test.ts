import { afterEach, describe, expect, test, vi } from "vitest";
import { OTHER_VERSION } from "../../../src/pure/panelMessages";
import { GIVE_UP_MS, SLOW_MS } from "../../../webviews/shared/lane";
import type { ViewQuery } from "../../../src/pure/tensorQueries";
import type { TensorView } from "../../../src/wire/generated";
import { Panel, STOPPED } from "./panel";
import { recorded } from "./recorded";

const LOGITS: Record<ViewQuery["view"], TensorView> = {
  stats: recorded("logits.stats"),
  image: recorded("logits.image"),
  page: recorded("logits.page"),
  histogram: recorded("logits.histogram"),
  history: { ...recorded("logits.stats"), view: "history" },
};

function logits(): Panel {
  return new Panel((query) => LOGITS[query.view]);
}

function figures(panel: Panel): Record<string, string> {
  const found: Record<string, string> = {};
  for (const cell of panel.all("zt-stats dl > div")) {
    found[cell.dataset["name"] ?? ""] = cell.querySelector("dd")?.textContent.trim() ?? "";
  }
  return found;
}

async function open(panel: Panel, tab: string): Promise<void> {
  panel.find(`#tab-${tab}`).click();
  await panel.settle();
}

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

describe("a tensor", () => {
  test("is named, typed and counted", async () => {
    const panel = logits();
    await panel.situate();
    expect(panel.text).toContain("float32[3, 4]");
    expect(panel.text).toContain("cpu");
    expect(panel.text).toContain("48 B");
    expect(panel.text).toContain("Shows step at train.py:41, step 41, stop 3.");
    expect(figures(panel)).toMatchObject({
      min: "−2.25",
      max: "3",
      mean: "0.4028",
      NaN: "1",
      Inf: "2",
      zeros: "1",
      size: "12",
    });
  });

  test("shows what is not finite by a sign and a colour, exact on hover", async () => {
    const panel = logits();
    await panel.situate();
    const nan = panel.find('[data-name="NaN"]');
    expect(nan.className).toBe("bad");
    expect(nan.querySelector("vscode-icon")?.getAttribute("name")).toBe("error");
    const mean = panel.find('[data-name="mean"]');
    expect(mean.title).toContain(String(LOGITS.stats.stats.mean));
    mean.click();
    expect(panel.sent.at(-1)).toEqual({ type: "copy", text: String(LOGITS.stats.stats.mean) });
  });

  test("asks for statistics, then for the picture, and for nothing twice", async () => {
    const panel = logits();
    await panel.situate();
    await panel.situate();
    expect(panel.queries.map(({ view, slice }) => [view, slice])).toEqual([
      ["stats", undefined],
      ["image", ":, :"],
      ["history", undefined],
    ]);
  });

  test("has its marks counted in the legend", async () => {
    const panel = logits();
    await panel.situate();
    const entries = panel.all("zt-legend button").map((one) => one.textContent.replace(/\s+/g, " ").trim());
    expect(entries).toEqual(["NaN 1", "Inf 2", "Zero 1"]);
  });

  test("has its values in a table, with what is odd marked", async () => {
    const panel = logits();
    await panel.situate();
    await open(panel, "values");
    const rows = panel.all("zt-values tbody tr").map((row) =>
      [...row.querySelectorAll("th, td")].map((cell) => cell.textContent.trim()),
    );
    expect(rows[0]).toEqual(["0", "0.0", "1.5", "nan", "-2.25"]);
    expect(panel.all("td.odd").map((cell) => cell.textContent.trim())).toEqual(["nan", "inf", "-inf"]);
    panel.find('[label^="Copy the selection"]').click();
    expect(panel.sent.at(-1)).toEqual({
      type: "copy",
      text: LOGITS.page.page!.cells.map((row) => row.join("\t")).join("\n") + "\n",
    });
  });

  test("has a histogram, described for those who do not see it", async () => {
    const panel = logits();
    await panel.situate();
    await open(panel, "histogram");
    expect(panel.queries.at(-1)).toEqual({ view: "histogram", width: 80 });
    expect(panel.find("zt-histogram canvas").getAttribute("aria-label")).toContain(
      "Histogram of 9 finite values from −2.25 to 3 in 8 bins",
    );
    expect(panel.find("zt-histogram canvas").getAttribute("aria-label")).toContain("NaN 1, Inf 2");
  });

  test("that cannot be drawn here says so in its place", async () => {
    const panel = logits();
    await panel.situate();
    const picture = panel.find("zt-picture");
    Object.defineProperties(picture, { clientWidth: { value: 300 }, clientHeight: { value: 200 } });
    (picture as unknown as { resize(): void }).resize();
    await vi.waitFor(() => {
      expect(panel.text).toContain("This editor cannot draw pictures here");
    });
  });
});

describe("kinds of tensors", () => {
  test("an empty one says why there is nothing", async () => {
    const panel = new Panel(() => recorded("empty.stats"), "empty");
    await panel.situate({ expression: "empty" });
    expect(panel.text).toContain("This tensor has no elements: its shape is [0, 4].");
    expect(panel.queries).toEqual([{ view: "stats" }]);
  });

  test("a scalar is one large number", async () => {
    const panel = new Panel((query) => recorded(query.view === "page" ? "loss.page" : "loss.stats"), "loss");
    await panel.situate({ expression: "loss" });
    expect(panel.find("output").textContent.trim()).toBe("0.6931472");
    expect(panel.all("[role=tablist]")).toEqual([]);
  });

  test("one without data says so", async () => {
    const panel = new Panel(() => recorded("meta.stats"), "meta");
    await panel.situate({ expression: "meta" });
    expect(panel.text).toContain("A tensor on the meta device has a shape but no data.");
    expect(panel.all("zt-picture")).toEqual([]);
  });

  test("a sparse one shows the values that it stores", async () => {
    const panel = new Panel(
      (query) => (query.view === "stats" ? recorded("sparse.stats") : undefined),
      "sparse",
    );
    await panel.situate({ expression: "sparse" });
    expect(panel.queries).toContainEqual(expect.objectContaining({ view: "image", slice: ":" }));
    expect(panel.find("#tab-heat").textContent.trim()).toBe("Line");
  });

  test("eight dimensions have eight controls", async () => {
    const panel = new Panel((query) => (query.view === "stats" ? recorded("deep.stats") : undefined), "deep");
    await panel.situate({ expression: "deep" });
    expect(panel.all("zt-slice-picker .dim")).toHaveLength(8);
    const slider = panel.find('[data-dim="3"] input[type="number"]') as HTMLInputElement;
    slider.value = "2";
    slider.dispatchEvent(new Event("change"));
    await vi.waitFor(() => {
      expect(panel.saved?.slice).toBe("0, 0, 0, 2, 0, 0, :, :");
    });
  });

  test("pictures have a tab, and their channels are asked for", async () => {
    const panel = new Panel(
      (query) => recorded(query.view === "image" ? "images.image" : "images.stats"),
      "images",
    );
    await panel.situate({ expression: "images" });
    await open(panel, "image");
    expect(panel.queries.at(-1)).toMatchObject({ view: "image", channels: 1, slice: "0, :, :, :" });
    expect(panel.find("zt-picture").getAttribute("mode")).toBe("image");
  });
});

describe("a program that goes on", () => {
  test("leaves the last picture, dimmed, and says of when it is", async () => {
    const panel = logits();
    await panel.situate();
    await panel.situate({ state: "running", readable: false });
    expect(panel.text).toContain("Running – shows step at train.py:41, step 41, stop 3.");
    expect(figures(panel)["max"]).toBe("3");
    expect(panel.find(".kept").className).toContain("dim");
    await panel.situate({ state: "ended", readable: false });
    expect(panel.text).toContain("The program has ended; this is what it showed last.");
  });

  test("is read again at the next stop", async () => {
    const panel = logits();
    await panel.situate();
    await panel.situate({ state: "running", readable: false });
    await panel.situate({ generation: 2, where: "stop 4" });
    expect(panel.queries.map(({ view }) => view)).toEqual([
      ...["stats", "image", "history"],
      ...["stats", "image", "history"],
    ]);
    expect(panel.find(".kept").className).not.toContain("dim");
  });

  test("whose tensor is gone says so above the kept picture, with a retry", async () => {
    let gone = false;
    const panel = new Panel((query) => (gone ? "There is no 'logits' here." : LOGITS[query.view]));
    await panel.situate();
    gone = true;
    await panel.situate({ generation: 2, where: "<module> at train.py:60, stop 4" });
    expect(panel.text).toContain("There is no 'logits' here.");
    expect(panel.text).toContain("Kept from step at train.py:41, step 41, stop 3.");
    expect(figures(panel)["max"]).toBe("3");
    expect(panel.find(".kept").className).toContain("dim");
    gone = false;
    panel.find("zt-notice vscode-button").click();
    await panel.settle();
    expect(panel.text).not.toContain("There is no 'logits' here.");
    expect(panel.find(".kept").className).not.toContain("dim");
  });

  test("that does not answer is told after ten seconds", async () => {
    vi.useFakeTimers();
    const panel = new Panel(() => undefined);
    panel.receive({ type: "situation", situation: STOPPED });
    vi.advanceTimersByTime(SLOW_MS);
    await panel.settle();
    expect(panel.all("vscode-progress-bar")).toHaveLength(1);
    expect(panel.text).toContain("Reading the tensor…");
    vi.advanceTimersByTime(GIVE_UP_MS);
    await panel.settle();
    expect(panel.text).toContain("The program does not answer.");
    expect(panel.all("vscode-progress-bar")).toHaveLength(0);
  });

  test("what was not read before is said to be missing", async () => {
    const panel = logits();
    await panel.situate();
    await panel.situate({ state: "running", readable: false });
    await open(panel, "histogram");
    expect(panel.text).toContain("This part is read at the next stop.");
    await panel.situate({ state: "running", readable: false, pinned: true });
    expect(panel.text).toContain("Unpin the panel");
  });
});

describe("without a program", () => {
  test("it says how to start one", async () => {
    const panel = logits();
    await panel.situate({ state: "none", readable: false, where: "", generation: 0 });
    expect(panel.text).toContain("Start debugging (F5) and stop somewhere");
    panel.find("vscode-button").click();
    expect(panel.sent.at(-1)).toEqual({ type: "action", action: "startDebugging" });
    expect(panel.queries).toEqual([]);
  });

  test("of ours it says what to set, and copies the path", async () => {
    const panel = logits();
    await panel.situate({ state: "foreign", type: "debugpy", readable: false, where: "" });
    expect(panel.text).toContain("It is of type “debugpy”");
    expect(panel.text).toContain('"debugAdapterPath"');
    panel.find("vscode-button").click();
    expect(panel.sent.at(-1)).toEqual({ type: "action", action: "copyAdapterPath" });
  });
});

describe("another version of the extension", () => {
  test("is told, with a way out", async () => {
    const panel = logits();
    panel.raw({ version: 99, type: "situation" });
    await panel.settle();
    expect(panel.text).toContain(OTHER_VERSION);
    panel.find("vscode-button").click();
    expect(panel.sent.at(-1)).toEqual({ type: "reload" });
  });

  test("whose answer cannot be read is told in its place", async () => {
    const panel = new Panel(() => undefined);
    await panel.situate();
    panel.raw({ version: 1, type: "answer", id: 1, body: { view: "stats" } });
    await panel.settle();
    expect(panel.text).toContain("The answer cannot be read");
  });
});

test("a picture that came incomplete is told in its place", async () => {
  const image = LOGITS.image.image!;
  const cut = { ...LOGITS.image, image: { ...image, data: image.data.slice(0, 8) } };
  const panel = new Panel((query) => (query.view === "image" ? cut : LOGITS[query.view]));
  await panel.situate();
  expect(panel.text).toContain("The picture came incomplete.");
});

test("what was chosen is there again after a reload", async () => {
  const panel = logits();
  await panel.situate();
  await open(panel, "values");
  const again = new Panel((query) => LOGITS[query.view], "logits", panel.saved);
  await again.situate();
  expect(again.find("#tab-values").getAttribute("aria-selected")).toBe("true");
});

test("what another version has saved does no harm", async () => {
  const panel = new Panel((query) => LOGITS[query.view], "logits", {
    view: { tab: "chart", marks: 7, page: { row: -3 } },
    slice: "5, 5, 5",
    axes: "x",
  });
  await panel.situate();
  expect(panel.saved).toMatchObject({ slice: ":, :", view: { tab: "heat", page: { row: 0, column: 0 } } });
});

test("a pin and a refresh are told to the host", async () => {
  const panel = logits();
  await panel.situate();
  panel.find('[label="Refresh"]').click();
  expect(panel.sent.at(-1)).toEqual({ type: "refresh" });
  const pin = panel.find('[label^="Pin"]');
  pin.shadowRoot?.querySelector("button")?.click();
  expect(panel.sent.at(-1)).toEqual({ type: "pin", pinned: true });
});
