/** What the runtime's one-line summary of a tensor or an array looks like. */

const SUMMARY = /^[a-z]+\d*(?:_[a-z0-9]+)*(?:\[[^\]]*\])? [a-z]+(?::\d+)?(?: · |$)/;

/** Whether a value of the debugger is such a line, e.g. `float32[3, 8] cpu · x∈[-3.79, 0.063]`. */
export function isArraySummary(value: string): boolean {
  return SUMMARY.test(value);
}
