/** The words of the offer to run a session eagerly, and of what came of it. */
import type { Eager } from "../wire/generated";

export const RUN_EAGERLY = "Run Eagerly";
export const NOT_NOW = "Not Now";
export const COMPILE_AGAIN = "Compile Again";

const REASON = /^.*?: the breakpoint is not hit\./;

/** What the notification says: why the breakpoint is not hit, and what an eager run changes. */
export function offerOf(message: string): string {
  const why = REASON.exec(message)?.[0] ?? message;
  return (
    `Breakpoint in compiled code. ${why} Run this session eagerly, from the next call on? ` +
    "It is slower, and results may differ from compiled ones in their last bits."
  );
}

/** What is said once the session runs as was asked. */
export function outcomeOf({ eager, regions, note }: Eager): string {
  const known = regions === 1 ? "1 function is" : `${String(regions)} functions are`;
  const done = eager
    ? `This session runs eagerly: ${known} not compiled from the next call on.`
    : "This session runs compiled code.";
  return note ? `${done} ${note}` : done;
}
