/** What a panel keeps, and what it takes over while it is open. */
import { afterEach, expect, test } from "vitest";
import type { ViewQuery } from "../../../src/pure/tensorQueries";
import type { TensorView } from "../../../src/wire/generated";
import { Panel } from "./panel";
import { recorded } from "./recorded";

const LOGITS: Record<ViewQuery["view"], TensorView> = {
  stats: recorded("logits.stats"),
  image: recorded("logits.image"),
  page: recorded("logits.page"),
  histogram: recorded("logits.histogram"),
};

function logits(saved?: unknown): Panel {
  return new Panel((query) => LOGITS[query.view], "logits", saved);
}

async function openValues(panel: Panel): Promise<void> {
  panel.find("#tab-values").click();
  await panel.settle();
}

afterEach(() => {
  document.body.replaceChildren();
});

test("a panel that has shown nothing yet is kept over a reload", async () => {
  const panel = logits();
  await panel.situate({ state: "none", readable: false, where: "", generation: 0 });
  expect(panel.saved).toMatchObject({ expression: "logits" });
});

test("what was saved before stays until there is something newer", async () => {
  const panel = logits();
  await panel.situate();
  await openValues(panel);
  const again = logits(panel.saved);
  await again.situate({ state: "none", readable: false, where: "", generation: 0 });
  expect(again.saved).toBeUndefined();
});

test("another number of rows in the settings takes effect at once", async () => {
  const panel = logits();
  await panel.situate();
  await openValues(panel);
  panel.receive({ type: "settings", settings: { colourMap: "auto", maxRows: 2 } });
  await panel.settle();
  expect(panel.queries.at(-1)).toMatchObject({ view: "page", height: 2, width: 2 });
});
