/** What the Tensor panel can show just now, and why not more. */

export const STATES = ["none", "starting", "foreign", "running", "stopped", "ended"] as const;
export type State = (typeof STATES)[number];

export interface Situation {
  readonly state: State;
  /** Counts the pictures there are to take: raised by every stop and every other frame. */
  readonly generation: number;
  readonly expression: string;
  /** Where the picture was taken, e.g. `step 41, stop 3`; empty before the first. */
  readonly where: string;
  readonly pinned: boolean;
  /** Whether a frame stands still in which the expression can be read. */
  readonly readable: boolean;
  /** Debug type of a session that is not ours. */
  readonly type: string;
}

/** A sentence with what to do, for the place where a picture would be. */
export interface Advice {
  readonly title: string;
  readonly text: string;
}

/** Why there is nothing yet; undefined while a picture can be taken. */
export function advice(situation: Situation): Advice | undefined {
  const { expression } = situation;
  switch (situation.state) {
    case "none":
      return {
        title: "Nothing is being debugged",
        text: `Start debugging (F5) and stop somewhere, then “${expression}” is shown here.`,
      };
    case "starting":
      return {
        title: "The program is starting",
        text: `“${expression}” is shown at the first stop.`,
      };
    case "running":
      return {
        title: "The program is running",
        text: `“${expression}” is shown at the next stop.`,
      };
    case "ended":
      return {
        title: "The program has ended",
        text: `Start it again (F5) and stop where “${expression}” is known.`,
      };
    case "foreign":
      return {
        title: "ZenTracer is not part of this session",
        text:
          `It is of type “${situation.type}” and runs without ZenTracer's adapter. Use ` +
          '"type": "zentracer" in launch.json, or keep the type and set "debugAdapterPath" to ' +
          "the adapter's path.",
      };
    case "stopped":
      return undefined;
  }
}

/**
 * The line in the header; a kept picture is called what it is.
 *
 * @param kept where the picture is from, if there is none of now
 */
export function caption(situation: Situation, kept = ""): string {
  const { state, where, pinned } = situation;
  if (kept) return `Kept from ${kept}.`;
  if (!where) return state === "running" ? "Running." : "";
  if (pinned) return `Pinned: shows ${where}.`;
  switch (state) {
    case "stopped":
      return `Shows ${where}.`;
    case "running":
    case "starting":
      return `Running – shows ${where}.`;
    case "ended":
      return "The program has ended; this is what it showed last.";
    case "foreign":
      return "Another program is debugged without ZenTracer; this is what was shown last.";
    case "none":
      return "";
  }
}

/** `step() at train.py:41`; what is not a function has a name in angle brackets. */
export function frameText(name: string, path: unknown, line: unknown): string {
  const who = name.startsWith("<") ? name : `${name}()`;
  if (typeof path !== "string" || typeof line !== "number") return who;
  return `${who} at ${path.split(/[\\/]/).at(-1) ?? path}:${line}`;
}

/** `step() at train.py:41, step 41, stop 3`. */
export function whereText(parts: {
  readonly frame?: string;
  readonly session?: string;
  readonly step?: number;
  readonly stop: number;
}): string {
  const found = [parts.frame, parts.session];
  if (parts.step !== undefined) found.push(`step ${parts.step}`);
  found.push(`stop ${parts.stop}`);
  return found.filter((part) => part).join(", ");
}
