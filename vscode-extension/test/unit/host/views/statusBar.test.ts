import { expect, test } from "vitest";
import { type StatusFacts, statusOf } from "../../../../src/pure/statusBar";
import { breakpoint, process, step } from "./examples";

function facts(changes: Partial<StatusFacts> = {}): StatusFacts {
  return {
    name: "Train",
    state: "running",
    pid: 1,
    isRoot: true,
    processes: [process()],
    steps: new Map([[1, step()]]),
    breakpoints: [],
    notices: [],
    findings: 0,
    ...changes,
  };
}

test("step, loss and overhead", () => {
  expect(statusOf(facts()).text).toBe("$(pulse) step 163 · loss 0.4213 · 1.8 %");
});

test("before the first step there is the name", () => {
  expect(statusOf(facts({ steps: new Map() })).text).toBe("$(pulse) ZenTracer");
});

test("a rank's session has the rank in front, a launcher shows its first rank", () => {
  const steps = new Map([2, 3].map((pid) => [pid, step({ pid, rank: pid - 2, step: pid })]));
  expect(statusOf(facts({ pid: 3, isRoot: false, steps })).text).toContain("rank 1 · step 3");
  expect(statusOf(facts({ pid: 1, steps })).text).toContain("rank 0 · step 2");
  expect(statusOf(facts({ pid: 9, isRoot: false, steps })).text).toBe("$(pulse) ZenTracer");
});

test("the tooltip counts findings and names what is armed", () => {
  const breakpoints = [
    breakpoint(),
    breakpoint({ module: null }),
    breakpoint({ verified: false }),
    breakpoint({ enabled: false }),
  ];
  const { tooltip } = statusOf(facts({ findings: 1, breakpoints }));
  expect(tooltip).toContain("1 finding · 2 tensor breakpoints armed: NaN or Inf in `encoder.*`, NaN or Inf");
  expect(statusOf(facts()).tooltip).toContain("No findings · no tensor breakpoint armed");
});

const NOTICE = "ZenTracer is switched off for this program (ZENTRACER=off).";

test("without a runtime it warns with the reason", () => {
  const status = statusOf(facts({ processes: [], steps: new Map(), notices: [NOTICE] }));
  expect(status.isWarning).toBe(true);
  expect(status.text).toBe("$(warning) ZenTracer is switched off for this program (ZENTRACER=off)");
  expect(status.tooltip).toContain("does not watch this program");
});

test("what a breakpoint says is a reason, too, unless it only has to wait", () => {
  const messages = (message: string): StatusFacts =>
    facts({ processes: [], steps: new Map(), breakpoints: [breakpoint({ verified: false, message })] });
  expect(statusOf(messages(NOTICE)).isWarning).toBe(true);
  expect(statusOf(messages("The process has not connected yet; it will.")).isWarning).toBe(false);
});

test("a notice is no warning while processes are watched, nor before they can be", () => {
  expect(statusOf(facts({ notices: [NOTICE] })).isWarning).toBe(false);
  const early = facts({ processes: [], steps: new Map(), notices: [NOTICE], state: "starting" });
  expect(statusOf(early).isWarning).toBe(false);
});
