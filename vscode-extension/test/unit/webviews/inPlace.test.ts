/** A sentence stands where otherwise nothing would. */
import { afterEach, expect, test } from "vitest";
import { Panel } from "./panel";
import { recorded } from "./recorded";

afterEach(() => {
  document.body.replaceChildren();
});

test("a scalar whose value is gone says so, with a retry", async () => {
  let gone = true;
  const panel = new Panel((query) => {
    if (query.view !== "page") return recorded("loss.stats");
    return gone ? "There is no 'loss' here." : recorded("loss.page");
  }, "loss");
  await panel.situate({ expression: "loss" });
  expect(panel.text).toContain("There is no 'loss' here.");
  gone = false;
  panel.find("zt-notice vscode-button").click();
  await panel.settle();
  expect(panel.find("output").textContent.trim()).toBe("0.6931472");
});

test("a stop without a frame to read in says what to do", async () => {
  const panel = new Panel(() => recorded("loss.stats"), "loss");
  await panel.situate({ readable: false, where: "" });
  expect(panel.text).toContain("the frame that is selected in the Call Stack");
  expect(panel.queries).toEqual([]);
});
