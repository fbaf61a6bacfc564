import { expect, test } from "vitest";
import { PanelQueries } from "../../../src/pure/panelQueries";

test("an answer is wanted once, and not if it was cancelled", () => {
  const queries = new PanelQueries();
  const first = queries.begin(1);
  const second = queries.begin(2);
  queries.cancel(2);
  expect([first(), first(), second()]).toEqual([true, false, false]);
});

test("a page that was loaded again gets no answer to what its predecessor asked", () => {
  const queries = new PanelQueries();
  const before = queries.begin(1);
  queries.reset();
  const after = queries.begin(1);
  expect([before(), after()]).toEqual([false, true]);
});

test("what was cancelled after its answer does not hold up a later page", () => {
  const queries = new PanelQueries();
  queries.begin(1)();
  queries.cancel(1);
  queries.reset();
  expect(queries.begin(1)()).toBe(true);
});
