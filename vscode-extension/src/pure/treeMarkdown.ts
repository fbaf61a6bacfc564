/** Text of programs inside Markdown, so that nothing of it is taken for mark-up. */

/** Escapes what Markdown and HTML would take for their own. */
export function plain(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$]/g, "\\$&").replace(/\r?\n/g, "  \n");
}

/** Text as inline code; a backtick inside needs a longer fence. */
export function code(text: string): string {
  const bare = text.replace(/\s+/g, " ").trim();
  const longest = Math.max(0, ...(bare.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest > 0 ? `${fence} ${bare} ${fence}` : `${fence}${bare}${fence}`;
}

/** Paragraphs, without the empty ones. */
export function paragraphs(...parts: readonly (string | null | undefined | false)[]): string {
  return parts.filter((part) => typeof part === "string" && part !== "").join("\n\n");
}
