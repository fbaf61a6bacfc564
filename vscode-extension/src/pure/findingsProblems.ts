/** A finding as the Problems view shows it. */
import type { Finding } from "../wire/generated";

/** The sentence, then what to try where no edit can be offered: those have a light bulb. */
export function problemText(finding: Finding): string {
  const tips = (finding.details?.suggestions ?? [])
    .filter((suggestion) => suggestion.edit === null)
    .map((suggestion) => `Try: ${suggestion.title}. ${suggestion.why}`);
  return [finding.message, ...tips].join("\n");
}

/** Whether a path can be a file; `<string>` cannot. */
export function isFilePath(path: string): boolean {
  return /^(\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
}
