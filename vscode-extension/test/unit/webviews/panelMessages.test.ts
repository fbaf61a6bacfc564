import { describe, expect, test } from "vitest";
import { readToHost, readToPanel, send } from "../../../src/pure/panelMessages";
import { pageHtml } from "../../../src/pure/tensorHtml";
import { advice, caption, frameText, type Situation, STATES, whereText } from "../../../src/pure/tensorSituation";
import { recorded } from "./recorded";

const situation: Situation = {
  state: "stopped",
  generation: 3,
  expression: "x",
  where: "step 41, stop 3",
  pinned: false,
  readable: true,
  type: "zentracer",
};

describe("messages", () => {
  test("to the panel arrive as they were sent", () => {
    const body = recorded("logits.stats");
    for (const message of [
      { type: "situation", situation } as const,
      { type: "settings", settings: { colourMap: "gray", maxRows: 50 } } as const,
      { type: "answer", id: 1, body } as const,
      { type: "failure", id: 1, message: "no" } as const,
      { type: "changed", id: 2, problem: null } as const,
      { type: "changed", id: 2, problem: "no" } as const,
    ]) {
      expect(readToPanel(send(message))).toEqual(message);
    }
  });

  test("to the host arrive as they were sent", () => {
    for (const message of [
      { type: "ready", expression: "x" } as const,
      { type: "query", id: 4, generation: 2, query: { view: "page", slice: "0, :", row: 3 } } as const,
      { type: "cancel", id: 4 } as const,
      { type: "change", id: 5, generation: 2, slice: "0, 3", value: "0.5" } as const,
      { type: "pin", pinned: true } as const,
      { type: "refresh" } as const,
      { type: "copy", text: "1" } as const,
      { type: "action", action: "copyAdapterPath" } as const,
      { type: "reload" } as const,
    ]) {
      expect(readToHost(send(message))).toEqual(message);
    }
  });

  test("of another version are told apart", () => {
    expect(readToPanel({ version: 0, type: "situation" })).toBe("otherVersion");
    expect(readToHost({ version: 99, type: "query" })).toBe("otherVersion");
    expect(readToHost({ type: "query" })).toBe("otherVersion");
    expect(readToHost({ version: 99, type: "reload" })).toEqual({ type: "reload" });
  });

  test.each([
    undefined,
    null,
    "text",
    [],
    {},
    { type: "situation" },
    { version: 1, type: "unknown" },
    { version: 1, type: "situation", situation: { ...situation, state: "flying" } },
    { version: 1, type: "situation", situation: { ...situation, generation: -1 } },
    { version: 1, type: "settings", settings: { colourMap: "rainbow", maxRows: 5 } },
    { version: 1, type: "failure", id: "1", message: "no" },
  ])("%j is nothing to a panel", (data) => {
    expect(readToPanel(data)).toBeUndefined();
  });

  test.each([
    { version: 1, type: "query", id: 1, generation: 1, query: { view: "everything" } },
    { version: 1, type: "query", id: 1, generation: 1, query: { view: "page", slice: 3 } },
    { version: 1, type: "query", id: 1, generation: 1, query: { view: "page", axes: ["0"] } },
    { version: 1, type: "query", id: 1.5, generation: 1, query: { view: "page" } },
    { version: 1, type: "action", action: "deleteEverything" },
    { version: 1, type: "pin", pinned: "yes" },
  ])("%j is nothing to the host", (data) => {
    expect(readToHost(data)).toBeUndefined();
  });

  test("an answer that cannot be read is a failure of its query", () => {
    expect(readToPanel({ version: 1, type: "answer", id: 7, body: { view: "stats" } })).toMatchObject({
      type: "failure",
      id: 7,
      message: expect.stringContaining("cannot be read") as string,
    });
  });
});

describe("the page", () => {
  const html = pageHtml({
    title: 'x["<b>"]',
    source: "https://example.test",
    nonce: "n0nce",
    script: "https://example.test/tensor.js",
    style: "https://example.test/tensor.css",
    data: { expression: 'x["<b>"]' },
  });

  test("runs one script, with the nonce, and nothing inline", () => {
    expect(html.match(/<script[^]*?<\/script>/g)).toEqual([
      '<script type="module" nonce="n0nce" src="https://example.test/tensor.js"></script>',
    ]);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });

  test("allows nothing but the extension's own files", () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    expect(policy?.split("; ")).toEqual([
      "default-src 'none'",
      "script-src 'nonce-n0nce'",
      "style-src https://example.test",
      "font-src https://example.test",
      "img-src https://example.test",
    ]);
    expect(html).not.toContain("unsafe");
  });

  test("carries any expression unharmed", () => {
    const element = document.createElement("div");
    element.innerHTML = /<zt-tensor.*<\/zt-tensor>/.exec(html)?.[0] ?? "";
    expect(element.firstElementChild?.getAttribute("data-expression")).toBe('x["<b>"]');
  });
});

describe("what is said of the program", () => {
  test.each(STATES)("%s has a sentence, or a picture", (state) => {
    const why = advice({ ...situation, state });
    if (state === "stopped") expect(why).toBeUndefined();
    else expect(why?.text.length).toBeGreaterThan(10);
  });

  test("a kept picture is called what it is", () => {
    expect(caption(situation)).toBe("Shows step 41, stop 3.");
    expect(caption({ ...situation, state: "running" })).toBe("Running – shows step 41, stop 3.");
    expect(caption({ ...situation, state: "ended" })).toBe(
      "The program has ended; this is what it showed last.",
    );
    expect(caption({ ...situation, pinned: true })).toBe("Pinned: shows step 41, stop 3.");
    expect(caption({ ...situation, where: "", state: "ended" })).toBe("");
  });

  test("a place is named by what is known", () => {
    expect(whereText({ frame: "f at a.py:3", session: "rank 1", step: 7, stop: 2 })).toBe(
      "f at a.py:3, rank 1, step 7, stop 2",
    );
    expect(whereText({ stop: 2 })).toBe("stop 2");
    expect(frameText("step", "/home/me/train.py", 41)).toBe("step() at train.py:41");
    expect(frameText("<module>", "C:\\work\\train.py", 3)).toBe("<module> at train.py:3");
    expect(frameText("step", null, 3)).toBe("step()");
  });
});
