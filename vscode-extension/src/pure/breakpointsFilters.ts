/** The tensor exceptions that can be chosen from. */
import { FILTERS } from "../wire/generated";
import { isRecord } from "./guards";

export interface Filter {
  readonly id: string;
  readonly label: string;
  readonly description: string;
}

const PREFIX = "zentracer.";

/** What this version offers; the adapter in use tells its own as soon as it runs. */
export const FIRST_FILTERS: readonly Filter[] = FILTERS;

/** Reads the tensor exceptions out of an adapter's answer to `initialize`. */
export function offeredFilters(message: unknown): readonly Filter[] | undefined {
  if (!isRecord(message) || message["command"] !== "initialize") return undefined;
  if (message["type"] !== "response" || !isRecord(message["body"])) return undefined;
  const filters = readFilters(message["body"]["exceptionBreakpointFilters"]);
  return filters.length > 0 ? filters : undefined;
}

/** Reads a list in DAP's spelling; what is not ours is left out. */
export function readFilters(list: unknown): readonly Filter[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    if (!isRecord(entry)) return [];
    const { filter, label, description } = entry;
    if (typeof filter !== "string" || !filter.startsWith(PREFIX) || typeof label !== "string") return [];
    return [{ id: filter, label, description: typeof description === "string" ? description : "" }];
  });
}

/** The label of a filter, or its name where nobody has told one. */
export function labelOf(filters: readonly Filter[], id: string): string {
  return filters.find((filter) => filter.id === id)?.label ?? id.slice(PREFIX.length);
}
