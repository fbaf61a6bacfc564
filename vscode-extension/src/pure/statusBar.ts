/** The status bar's entry: how far the active session is, or why nothing is watched. */
import type { Process, StepSeen, TensorBreakpointState } from "../wire/generated";
import { plural } from "./statusNumbers";
import { code, paragraphs, plain } from "./treeMarkdown";
import { overheadText, progress } from "./treeSessions";
import type { State } from "./runState";

export interface StatusFacts {
  readonly name: string;
  readonly state: State;
  readonly pid: number | undefined;
  readonly isRoot: boolean;
  readonly processes: readonly Process[];
  readonly steps: ReadonlyMap<number, StepSeen>;
  readonly breakpoints: readonly TensorBreakpointState[];
  readonly notices: readonly string[];
  readonly findings: number;
}

export interface Status {
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly isWarning: boolean;
  /** Read aloud in place of the text with its icons. */
  readonly spoken: string;
}

export function statusOf(facts: StatusFacts): Status {
  const problem = problemOf(facts);
  if (problem !== undefined) return warning(problem);
  const step = stepOf(facts);
  const said = step ? join(rankOf(step), progress(step)) : "ZenTracer";
  return {
    text: `$(pulse) ${said}`,
    tooltip: tooltipOf(facts, step),
    isWarning: false,
    spoken: `ZenTracer: ${step ? said : facts.state}`,
  };
}

/** Why no runtime is in the program, if that is so. What the adapter says of itself then is why. */
export function problemOf(facts: StatusFacts): string | undefined {
  const isOn = facts.state === "running" || facts.state === "stopped";
  if (!isOn || facts.processes.length > 0 || facts.steps.size > 0) return undefined;
  const said = facts.breakpoints.map((breakpoint) => breakpoint.message);
  // Until the program's Python has started it has not connected “yet”, and that is no problem.
  return facts.notices.at(-1) ?? said.find((text) => text !== null && !/\byet\b/.test(text)) ?? undefined;
}

/** The step of the session's own process; a launcher of ranks shows its first rank. */
function stepOf(facts: StatusFacts): StepSeen | undefined {
  const own = facts.pid === undefined ? undefined : facts.steps.get(facts.pid);
  if (own !== undefined || !facts.isRoot) return own;
  const first = [...facts.steps.values()].sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1));
  return first[0];
}

function rankOf(step: StepSeen): string {
  return step.rank === null ? "" : `rank ${String(step.rank)}`;
}

function warning(problem: string): Status {
  const first = problem.split(/(?<=[.:;])\s/, 1)[0] ?? problem;
  return {
    text: `$(warning) ${first.replace(/[.:;]$/, "")}`,
    tooltip: paragraphs("**ZenTracer does not watch this program**", plain(problem)),
    isWarning: true,
    spoken: `ZenTracer: ${problem}`,
  };
}

function tooltipOf(facts: StatusFacts, step: StepSeen | undefined): string {
  const armed = facts.breakpoints.filter((breakpoint) => breakpoint.enabled && breakpoint.verified);
  const names = armed.map((breakpoint) =>
    breakpoint.module === null ? plain(breakpoint.label) : `${plain(breakpoint.label)} in ${code(breakpoint.module)}`,
  );
  return paragraphs(
    `**ZenTracer** — ${plain(facts.name)}`,
    step && plain(progress(step)),
    typeof step?.overhead === "number" && overheadText(step.overhead),
    `${facts.findings === 0 ? "No findings" : plural(facts.findings, "finding")} · ${
      armed.length === 0 ? "no tensor breakpoint armed" : `${plural(armed.length, "tensor breakpoint")} armed: ${names.join(", ")}`
    }`,
    "Click to open the ZenTracer view.",
  );
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
