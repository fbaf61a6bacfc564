import { describe, expect, it } from "vitest";
import { offerOf, outcomeOf } from "../../../../src/pure/eagerOffer";

const MESSAGE =
  "Line 16 is part of forward, which torch.compile (at net.py:24) runs as generated code: the " +
  "breakpoint is not hit. To stop here, run this session eagerly (your editor offers it).";

describe("the offer", () => {
  it("says why, once, and what changes", () => {
    const text = offerOf(MESSAGE);
    expect(text).toContain("(at net.py:24)");
    expect(text).not.toContain("To stop here");
    expect(text).toContain("last bits");
  });

  it("passes on a reason in other words", () => {
    expect(offerOf("It is compiled.")).toContain("It is compiled.");
  });
});

describe("the outcome", () => {
  it("counts functions", () => {
    expect(outcomeOf({ eager: true, regions: 1, note: null })).toContain("1 function is");
    expect(outcomeOf({ eager: true, regions: 2, note: null })).toContain("2 functions are");
  });

  it("says what does not follow", () => {
    const note = "TorchScript stays as it is.";
    expect(outcomeOf({ eager: true, regions: 0, note })).toMatch(/TorchScript stays as it is\.$/);
    expect(outcomeOf({ eager: false, regions: 0, note: null })).toBe("This session runs compiled code.");
  });
});
