// The shapes of the messages that we receive, as data: src/pure/guards.ts reads messages by them.
import { reachable, reference } from "./schema.mjs";

const PRIMITIVES = { integer: "number", number: "number", string: "string", boolean: "boolean" };

export function shapesOf(schema) {
  const { events, requests } = schema.editor;
  const bodies = Object.entries(requests).map(([name, entry]) => [name, entry.body]);
  const objects = {};
  for (const name of reachable(schema, [events, bodies])) objects[name] = fields(schema.$defs[name]);
  return `// Generated from zentracer/wire by \`make generate\`; do not edit.
import type { Fields } from "../pure/guards";

/** Fields of every object that we receive. */
export const OBJECTS: Record<string, Fields> = ${printObjects(objects)};

/** Body of each event: the name of its object. */
export const EVENT_BODIES = ${print(names(Object.entries(events)))} as const;

/** Answer of each request: the name of its object. */
export const ANSWER_BODIES = ${print(names(bodies))} as const;
`;
}

function names(entries) {
  return Object.fromEntries(entries.map(([name, node]) => [name, reference(node)]));
}

function fields(definition) {
  const found = {};
  for (const [name, property] of Object.entries(definition.properties ?? {})) {
    found[name] = { is: shape(property) };
    if ("default" in property) found[name].otherwise = property.default;
  }
  return found;
}

function shape(node) {
  if (node.anyOf) return { nullable: shape(node.anyOf.find((part) => part.type !== "null")) };
  if (node.$ref) return { object: reference(node) };
  if (node.type === "array") return { array: shape(node.items) };
  const primitive = PRIMITIVES[node.type];
  if (!primitive) throw new Error(`no shape for ${JSON.stringify(node)}`);
  return primitive;
}

/** A line a field, so that a change of the protocol is a readable change here. */
function printObjects(objects) {
  const lines = Object.entries(objects).flatMap(([name, found]) => [
    `  ${name}: {`,
    ...Object.entries(found).map(([field, what]) => `    ${field}: ${print(what)},`),
    "  },",
  ]);
  return ["{", ...lines, "}"].join("\n");
}

function print(value) {
  if (Array.isArray(value)) return `[${value.map(print).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, part]) => `${key}: ${print(part)}`)
    .join(", ")} }`;
}
