/** The Sessions view: a run, its processes below it, what each is doing and how far it is. */
import type { Process, StepSeen } from "../wire/generated";
import type { State } from "./runState";
import { percent, steady } from "./statusNumbers";
import type { Icon, TreeNode } from "./tree";
import { paragraphs, plain } from "./treeMarkdown";

/** One debug session, as far as the view needs it. */
export interface SessionFacts {
  readonly id: string;
  readonly name: string;
  readonly state: State;
  readonly stoppedText: string | undefined;
  /** Whether that is a sentence of its own, as at breakpoints by name and on data. */
  readonly isSentence?: boolean;
  readonly pid: number | undefined;
}

/** A main session with all that runs below it. */
export interface RunFacts extends SessionFacts {
  readonly version: string | undefined;
  readonly processes: readonly Process[];
  readonly steps: ReadonlyMap<number, StepSeen>;
  readonly children: readonly SessionFacts[];
  /** Ranks that have ended while the run went on. */
  readonly gone: readonly Process[];
  /** The process that the run's own row stands for; it leaves the list before the run ends. */
  readonly main: Process | undefined;
}

/** Adds what was there before: the main process, and ranks. Workers come and go, and are let go. */
export function withGone(before: RunFacts | undefined, seen: Omit<RunFacts, "gone" | "main">): RunFacts {
  const now = { ...seen, gone: [], main: mainProcess(seen) ?? before?.main };
  // A program that was started again has ranks of its own.
  if (before?.main === undefined || before.main.pid !== now.main?.pid) return now;
  const here = new Set(now.processes.map((process) => process.pid));
  const all = [...before.gone, ...before.processes];
  const gone = all.filter((process) => process.pid !== now.main?.pid && !here.has(process.pid) && isRank(process, all));
  return { ...now, gone: [...new Map(gone.map((process) => [process.pid, process])).values()] };
}

/** A rank's workers inherit its number. */
function isRank(process: Process, all: readonly Process[]): boolean {
  if (process.rank === null) return false;
  return !all.some((other) => other.pid === process.parent_pid && other.rank === process.rank);
}

/** The run after its end, with its last numbers. */
export function ended(run: RunFacts): RunFacts {
  const over = { state: "ended", stoppedText: undefined } as const;
  return { ...run, ...over, children: run.children.map((child) => ({ ...child, ...over })) };
}

export function sessionsTree(runs: readonly RunFacts[]): TreeNode[] {
  return runs.map(runNode);
}

/** `step 163 · loss 0.4213 · 1.8 %`, without what is not known. */
export function progress(step: StepSeen | undefined): string {
  if (step === undefined) return "";
  return [
    `step ${String(step.step)}`,
    step.loss === null ? "" : `loss ${steady(step.loss)}`,
    step.overhead === null ? "" : percent(step.overhead),
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

function mainProcess(run: Pick<RunFacts, "processes" | "pid">): Process | undefined {
  const pids = new Set(run.processes.map((process) => process.pid));
  return (
    run.processes.find((process) => process.pid === run.pid) ??
    run.processes.find((process) => process.parent_pid === null || !pids.has(process.parent_pid))
  );
}

function runNode(run: RunFacts): TreeNode {
  const { main } = run;
  const others = [...run.processes, ...run.gone].filter((process) => process.pid !== main?.pid);
  const pids = new Set(others.map((process) => process.pid));
  const top = others.filter((process) => process.parent_pid === null || !pids.has(process.parent_pid));
  const children = [
    ...stopRow(run),
    ...inOrder(top).map((process) => processNode(run, process, others)),
  ];
  return {
    id: `run:${run.id}`,
    label: run.name,
    ...row(run, main && run.steps.get(main.pid)),
    tooltip: tooltip(run.name, run, main, main && run.steps.get(main.pid), run.version),
    action: focus(run.id),
    context: "session",
    ...below(children),
  };
}

function processNode(run: RunFacts, process: Process, all: readonly Process[]): TreeNode {
  const session = run.children.find((child) => child.pid === process.pid);
  const facts = session ?? unwatched(run, process);
  const step = run.steps.get(process.pid);
  const workers = all.filter((other) => other.parent_pid === process.pid && other !== process);
  const name = nameOf(process);
  return {
    id: `process:${run.id}:${String(process.pid)}`,
    label: name,
    ...row(facts, step),
    tooltip: tooltip(name, facts, process, step, process.version),
    ...(session && { action: focus(session.id) }),
    context: "process",
    ...below([...stopRow(facts), ...inOrder(workers).map((worker) => processNode(run, worker, all))]),
  };
}

/** A process without a session of its own does what its run does. */
function unwatched(run: RunFacts, process: Process): SessionFacts {
  const state = run.gone.includes(process) || run.state === "ended" ? "ended" : "running";
  return { id: run.id, name: process.name, state, stoppedText: undefined, pid: process.pid };
}

/** The numbers have the little room that there is; the icon says what the state is. */
function row(
  { state }: SessionFacts,
  step: StepSeen | undefined,
): Pick<TreeNode, "description" | "icon" | "spoken"> {
  const numbers = progress(step);
  const isSaid = numbers === "" || state === "ended";
  return {
    description: isSaid ? join(state, numbers) : numbers,
    icon: iconOf(state),
    ...(!isSaid && { spoken: state }),
  };
}

function stopRow(facts: SessionFacts): TreeNode[] {
  if (facts.state !== "stopped" || facts.stoppedText === undefined) return [];
  const label = facts.stoppedText.split("\n", 1)[0] ?? "";
  return [
    {
      id: `stop:${facts.id}`,
      label: facts.isSentence ? label : `at ${label}`,
      tooltip: plain(facts.stoppedText),
      icon: { name: "debug-stackframe", colour: "debugIcon.breakpointCurrentStackframeForeground" },
      action: focus(facts.id),
    },
  ];
}

function below(children: readonly TreeNode[]): Pick<TreeNode, "children" | "expanded"> {
  return children.length > 0 ? { children, expanded: true } : {};
}

function focus(id: string): TreeNode["action"] {
  return { id: "zentracer.focusSession", title: "Show this session", args: [id] };
}

function inOrder(processes: readonly Process[]): Process[] {
  const last = Number.MAX_SAFE_INTEGER;
  return [...processes].sort((a, b) => (a.rank ?? last) - (b.rank ?? last) || a.pid - b.pid);
}

function nameOf(process: Process): string {
  if (process.name !== "") return process.name;
  return process.rank === null ? `process ${String(process.pid)}` : `rank ${String(process.rank)}`;
}

function iconOf(state: State): Icon {
  switch (state) {
    case "starting":
      return { name: "loading~spin" };
    case "running":
      return { name: "play-circle", colour: "debugIcon.startForeground" };
    case "stopped":
      return { name: "debug-pause", colour: "debugIcon.pauseForeground" };
    case "ended":
      return { name: "circle-slash", colour: "disabledForeground" };
  }
}

function tooltip(
  name: string,
  facts: SessionFacts,
  process: Process | undefined,
  step: StepSeen | undefined,
  version: string | undefined,
): string {
  const stands = facts.isSentence ? ": " : " at ";
  const stopped = facts.stoppedText === undefined ? "" : `${stands}${plain(facts.stoppedText)}`;
  const number = process?.pid ?? facts.pid;
  const ours = version === undefined ? "" : `ZenTracer ${version}`;
  const software = process
    ? [`Python ${process.python}`, ...process.frameworks, ours].filter((part) => part !== "")
    : [ours];
  const rank = process?.rank ?? null;
  return paragraphs(
    `**${plain(name)}** — ${facts.state}${stopped}`,
    software.map(plain).join(" · "),
    number === undefined ? "" : `Process ${String(number)}${rank === null ? "" : `, rank ${String(rank)}`}`,
    step && plain(join(`Step ${String(step.step)}`, step.loss === null ? "" : `loss ${steady(step.loss)}`)),
    typeof step?.overhead === "number" && overheadText(step.overhead),
  );
}

/** What the percentage means. */
export function overheadText(overhead: number): string {
  return `${percent(overhead)} of a step's time goes to ZenTracer.`;
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
