/** What the module picker lists for what was typed, and what it says about it. */
import type { ModuleInfo, Modules } from "../wire/generated";
import { count, plural } from "./statusNumbers";

export interface Row {
  readonly label: string;
  readonly description: string;
  readonly icon: string;
  /** The glob that this row stands for. */
  readonly value: string;
  /** The glob for everything below this module, if there is something. */
  readonly below: string | undefined;
}

export interface Listing {
  /** Stays visible while something is typed. */
  readonly title: string;
  readonly placeholder: string;
  readonly rows: readonly Row[];
  /** Shown below the rows: why there are no more. */
  readonly more: string | undefined;
}

export const LIMIT = 200;

const TITLE = "Break in module";

export function isGlob(query: string): boolean {
  return /[*?[]/.test(query);
}

/** The rows for an answer to `query`. */
export function listing(query: string, answer: Modules): Listing {
  if (answer.total === 0) return byHand(query, answer.note ?? "The program has no model yet.");
  const typed = query.trim();
  const rows = answer.modules.map(rowOf);
  const missing = answer.matching - answer.modules.length;
  const isNarrowed = typed !== "";
  return {
    title: isNarrowed
      ? `${TITLE} (${count(answer.matching)} of ${count(answer.total)})`
      : `${TITLE} (${count(answer.total)})`,
    placeholder: `Part of a name or class, or a glob such as encoder.* · ${plural(answer.total, "module")}`,
    rows: [...typedRows(typed, answer), ...rows],
    more: moreText(missing, isNarrowed && answer.matching === 0, answer.note),
  };
}

function moreText(missing: number, isNone: boolean, note: string | null): string | undefined {
  const parts = [
    missing > 0 ? `${count(missing)} more: type to narrow.` : "",
    isNone ? "No module matches." : "",
    note ?? "",
  ].filter((part) => part !== "");
  return parts.length > 0 ? parts.join(" ") : undefined;
}

/** The rows while no model can be asked; what is typed can be used all the same. */
export function byHand(query: string, reason: string): Listing {
  const typed = query.trim();
  return {
    title: TITLE,
    placeholder: "Type a module's name or a glob such as encoder.*",
    rows: typed === "" ? [] : [typedRow(typed)],
    more: reason,
  };
}

/** What was typed stands for itself if it is a glob; a name only if it names nothing live. */
function typedRows(typed: string, answer: Modules): readonly Row[] {
  if (typed === "") return [];
  if (isGlob(typed)) return [typedRow(typed, plural(answer.matching, "module"))];
  const exact = answer.modules.find((module) => module.name === typed);
  if (exact && exact.children > 0) {
    return [typedRow(`${typed}.*`, `everything below ${typed}`)];
  }
  return answer.matching === 0 ? [typedRow(typed)] : [];
}

/** What was typed comes first in the label: the editor sorts by where it finds it there. */
function typedRow(typed: string, more = ""): Row {
  const description = [`use as ${isGlob(typed) ? "glob" : "name"}`, more].filter(Boolean).join(" · ");
  return { label: typed, description, icon: "regex", value: typed, below: undefined };
}

function rowOf(module: ModuleInfo): Row {
  const size = module.parameters > 0 ? plural(module.parameters, "parameter") : "";
  const hasMore = module.children > 0;
  return {
    label: module.name,
    description: [module.class_name === module.name ? "" : module.class_name, size]
      .filter((part) => part !== "")
      .join(" · "),
    icon: hasMore ? "symbol-class" : "symbol-method",
    value: module.name,
    below: hasMore && module.name !== module.class_name ? `${module.name}.*` : undefined,
  };
}

/** Tells a late answer from the one that was asked for last. */
export class Latest {
  private newest = 0;

  /** Returns a test that is true until the next call. */
  next(): () => boolean {
    const mine = ++this.newest;
    return () => mine === this.newest;
  }
}
