// TypeScript's types of the messages.
import { compile } from "json-schema-to-typescript";
import { reachable, reference } from "./schema.mjs";

export async function typesOf(schema) {
  const { events, requests } = schema.editor;
  const answers = Object.values(requests).map((entry) => entry.body);
  const received = new Set(reachable(schema, [events, answers]));
  const definitions = {};
  for (const name of reachable(schema, schema.editor)) {
    definitions[name] = definition(schema.$defs[name], received.has(name));
  }
  const code = await compile(
    {
      title: "Messages",
      type: "object",
      additionalProperties: false,
      required: ["events", "requests"],
      properties: { events: table(events), requests: tables(requests) },
      $defs: definitions,
    },
    "Messages",
    {
      bannerComment:
        "// Generated from zentracer/wire by `make generate`; do not edit.\n\n" +
        "/** Names are without the prefix `zentracer/` that they have on the wire. */",
      format: true,
      ignoreMinAndMaxItems: true,
      maxItems: -1,
      style: { printWidth: 100 },
    },
  );
  return `${code}
export const PROTOCOL_VERSION = ${schema.protocol_version};

/** A kind of tensor exception, offered in the Breakpoints view. */
export interface TensorException {
  readonly id: string;
  readonly label: string;
  /** Whether it is on in a session whose user never chose. */
  readonly default: boolean;
  readonly description: string;
}

export const FILTERS: readonly TensorException[] = ${JSON.stringify(schema.filters, null, 2)};
`;
}

/** A property a table entry; TypeScript's types then follow from the message's name. */
function table(entries) {
  return {
    type: "object",
    additionalProperties: false,
    required: Object.keys(entries),
    properties: entries,
  };
}

function tables(requests) {
  return table(Object.fromEntries(Object.entries(requests).map(([name, entry]) => [name, table(entry)])));
}

/** Fields with a default are always received, so readers need not ask; whoever sends may omit them. */
function definition(source, isReceived) {
  const { title, ...copy } = structuredClone(source);
  copy.additionalProperties = false;
  for (const [name, property] of Object.entries(copy.properties ?? {})) {
    delete property.default;
    // Beside a reference a description would make the compiler write the type once more.
    if (reference(property)) copy.properties[name] = { $ref: property.$ref };
  }
  if (isReceived) copy.required = Object.keys(copy.properties ?? {});
  return copy;
}
