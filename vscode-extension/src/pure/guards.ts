/**
 * Reads messages of an adapter that may be older or newer than this extension: what is missing
 * gets its default, what is unknown stays, and what cannot be read is named in one sentence.
 */
import { ANSWER_BODIES, EVENT_BODIES, OBJECTS } from "../wire/shapes";
import type { Messages } from "../wire/generated";

export type Shape =
  | "string"
  | "number"
  | "boolean"
  | { readonly array: Shape }
  | { readonly nullable: Shape }
  | { readonly object: string };

/** A field's shape, and its value when a message lacks it. */
export interface Field {
  readonly is: Shape;
  readonly otherwise?: unknown;
}

export type Fields = Readonly<Record<string, Field>>;

export type EventName = keyof Messages["events"];
export type RequestName = keyof Messages["requests"];

/** A message that is not what the protocol says. */
export class Mismatch extends Error {}

export function isEventName(name: string): name is EventName {
  return Object.hasOwn(EVENT_BODIES, name);
}

/** Reads an event's body. @throws Mismatch */
export function readEvent<N extends EventName>(name: N, body: unknown): Messages["events"][N] {
  return readObject(EVENT_BODIES[name], body, name) as unknown as Messages["events"][N];
}

/** Reads the answer to a request. @throws Mismatch */
export function readAnswer<N extends RequestName>(
  name: N,
  body: unknown,
): Messages["requests"][N]["body"] {
  const found: unknown = readObject(ANSWER_BODIES[name], body, name);
  return found as Messages["requests"][N]["body"];
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readObject(name: string, value: unknown, path: string): Record<string, unknown> {
  if (!isRecord(value)) throw mismatch(path, "an object", value);
  const found: Record<string, unknown> = { ...value };
  for (const [key, field] of Object.entries(OBJECTS[name] ?? {})) {
    found[key] = readField(field, value[key], `${path}.${key}`);
  }
  return found;
}

function readField(field: Field, value: unknown, path: string): unknown {
  if (value === undefined && "otherwise" in field) return field.otherwise;
  if (value === undefined && isNullable(field.is)) return null;
  return readAs(field.is, value, path);
}

function readAs(shape: Shape, value: unknown, path: string): unknown {
  if (typeof shape === "string") {
    if (typeof value !== shape) throw mismatch(path, `a ${shape}`, value);
    return value;
  }
  if ("nullable" in shape) return value === null ? null : readAs(shape.nullable, value, path);
  if ("object" in shape) return readObject(shape.object, value, path);
  if (!Array.isArray(value)) throw mismatch(path, "a list", value);
  return value.map((item: unknown, index) => readAs(shape.array, item, `${path}[${String(index)}]`));
}

function isNullable(shape: Shape): boolean {
  return typeof shape !== "string" && "nullable" in shape;
}

function mismatch(path: string, wanted: string, value: unknown): Mismatch {
  const got = value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
  return new Mismatch(`${path} should be ${wanted}, but is ${got === "undefined" ? "missing" : got}`);
}
