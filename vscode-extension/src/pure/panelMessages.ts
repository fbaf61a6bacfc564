/** Messages between the Tensor panel and the extension host, both ways. */
import type { TensorView } from "../wire/generated";
import { isRecord, readAnswer } from "./guards";
import { COLOUR_CHOICES, type ColourChoice } from "./tensorColours";
import { VIEWS, type ViewQuery } from "./tensorQueries";
import { STATES, type Situation } from "./tensorSituation";

/** Raised with every change of a message that an older panel would misread. */
export const MESSAGES_VERSION = 1;

export const OTHER_VERSION =
  "This panel was made by another version of ZenTracer. Close it and open it again.";

export interface Settings {
  readonly colourMap: ColourChoice;
  /** Most rows, and most columns, of a page of values. */
  readonly maxRows: number;
}

export type ToPanel =
  | { readonly type: "situation"; readonly situation: Situation }
  | { readonly type: "settings"; readonly settings: Settings }
  | { readonly type: "answer"; readonly id: number; readonly body: TensorView }
  | { readonly type: "failure"; readonly id: number; readonly message: string }
  /** What became of a change: why it was not made, or null. */
  | { readonly type: "changed"; readonly id: number; readonly problem: string | null };

/** What a button in the panel can start. */
export const ACTIONS = [
  "startDebugging",
  "copyAdapterPath",
  "breakWhenChanged",
  "changeTensor",
] as const;
export type Action = (typeof ACTIONS)[number];

export type ToHost =
  | { readonly type: "ready"; readonly expression: string }
  | {
      readonly type: "query";
      readonly id: number;
      /** The situation that the panel knows of; an answer for an older one is of no use. */
      readonly generation: number;
      readonly query: ViewQuery;
    }
  | {
      readonly type: "change";
      readonly id: number;
      readonly generation: number;
      /** Part of the tensor, as between brackets. */
      readonly slice: string;
      /** A number or an expression of the frame, put into all of the part. */
      readonly value: string;
    }
  | { readonly type: "cancel"; readonly id: number }
  | { readonly type: "pin"; readonly pinned: boolean }
  | { readonly type: "refresh" }
  | { readonly type: "copy"; readonly text: string }
  | { readonly type: "action"; readonly action: Action }
  | { readonly type: "reload" };

/** What was received: a message, one of another version, or nothing of ours. */
export type Received<M> = M | "otherVersion" | undefined;

export type Sent<M> = M & { readonly version: number };

export function send<M extends ToPanel | ToHost>(message: M): Sent<M> {
  return { version: MESSAGES_VERSION, ...message };
}

/** Checks what the panel received from the host. */
export function readToPanel(data: unknown): Received<ToPanel> {
  if (!isRecord(data) || typeof data["type"] !== "string") return undefined;
  if (data["version"] !== MESSAGES_VERSION) {
    return typeof data["version"] === "number" ? "otherVersion" : undefined;
  }
  switch (data["type"]) {
    case "situation":
      return isSituation(data["situation"])
        ? { type: "situation", situation: data["situation"] }
        : undefined;
    case "settings":
      return isSettings(data["settings"])
        ? { type: "settings", settings: data["settings"] }
        : undefined;
    case "answer":
      return isCount(data["id"]) ? readBody(data["id"], data["body"]) : undefined;
    case "failure":
      return isCount(data["id"]) && typeof data["message"] === "string"
        ? { type: "failure", id: data["id"], message: data["message"] }
        : undefined;
    case "changed":
      return isCount(data["id"]) && (data["problem"] === null || typeof data["problem"] === "string")
        ? { type: "changed", id: data["id"], problem: data["problem"] }
        : undefined;
    default:
      return undefined;
  }
}

/** Checks what the host received from a panel. Reloading is asked for alike in all versions. */
export function readToHost(data: unknown): Received<ToHost> {
  if (!isRecord(data) || typeof data["type"] !== "string") return undefined;
  if (data["type"] === "reload") return { type: "reload" };
  if (data["version"] !== MESSAGES_VERSION) return "otherVersion";
  switch (data["type"]) {
    case "ready":
      return typeof data["expression"] === "string"
        ? { type: "ready", expression: data["expression"] }
        : undefined;
    case "query":
      return isCount(data["id"]) && isCount(data["generation"]) && isQuery(data["query"])
        ? {
            type: "query",
            id: data["id"],
            generation: data["generation"],
            query: data["query"],
          }
        : undefined;
    case "change":
      return readChange(data);
    case "cancel":
      return isCount(data["id"]) ? { type: "cancel", id: data["id"] } : undefined;
    case "pin":
      return typeof data["pinned"] === "boolean"
        ? { type: "pin", pinned: data["pinned"] }
        : undefined;
    case "refresh":
      return { type: "refresh" };
    case "copy":
      return typeof data["text"] === "string" ? { type: "copy", text: data["text"] } : undefined;
    case "action":
      return isOneOf(ACTIONS, data["action"])
        ? { type: "action", action: data["action"] }
        : undefined;
    default:
      return undefined;
  }
}

function readChange(data: Readonly<Record<string, unknown>>): ToHost | undefined {
  const { id, generation, slice, value } = data;
  return isCount(id) && isCount(generation) && typeof slice === "string" && typeof value === "string"
    ? { type: "change", id, generation, slice, value }
    : undefined;
}

/** An answer that cannot be read is told in its place, so nobody waits for it. */
function readBody(id: number, body: unknown): ToPanel {
  try {
    return { type: "answer", id, body: readAnswer("tensor", body) };
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { type: "failure", id, message: `The answer cannot be read: ${what}.` };
  }
}

function isSituation(value: unknown): value is Situation {
  return (
    isRecord(value) &&
    isOneOf(STATES, value["state"]) &&
    isCount(value["generation"]) &&
    typeof value["expression"] === "string" &&
    typeof value["where"] === "string" &&
    typeof value["pinned"] === "boolean" &&
    typeof value["readable"] === "boolean" &&
    typeof value["type"] === "string"
  );
}

function isSettings(value: unknown): value is Settings {
  return (
    isRecord(value) && isOneOf(COLOUR_CHOICES, value["colourMap"]) && isCount(value["maxRows"])
  );
}

function isQuery(value: unknown): value is ViewQuery {
  return (
    isRecord(value) &&
    isOneOf(VIEWS, value["view"]) &&
    isOptional(value["slice"], (field) => typeof field === "string") &&
    isOptional(value["axes"], (field) => Array.isArray(field) && field.every(isCount)) &&
    ["channels", "row", "column", "width", "height"].every((name) =>
      isOptional(value[name], isCount),
    )
  );
}

function isOptional(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || check(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isOneOf<T extends string>(known: readonly T[], value: unknown): value is T {
  return known.some((one) => one === value);
}
