/** Changes as statements that do the same at start-up. */
import type { PatchState } from "../wire/generated";

/** Python for changes, oldest first; those that no statement does are left out. */
export function patchesCode(states: readonly PatchState[]): string {
  const kept = states.filter((state) => state.code.trim() !== "");
  if (kept.length === 0) return "";
  const isTorch = kept.some((state) => /\btorch\./.test(state.code));
  const parts = kept.map((state) => `${comment(state)}\n${state.code.trimEnd()}\n`);
  return [isTorch ? "import torch\n" : "", ...parts].filter(Boolean).join("\n");
}

function comment({ target, text, label, where }: PatchState): string {
  const what = [label?.trim() ? `${label.trim()}: ` : "", `${target} ${text}`].join("");
  const place = where === "" ? "" : `, as at ${where}`;
  return `# ${`${what}${place}`.replace(/\s*[\r\n]+\s*/g, " ")}`;
}
