// The debugger's contribution in package.json: attributes from the schema, and snippets.
import { reference } from "./schema.mjs";
import { snippets } from "./snippets.mjs";

/** Returns package.json's text with the debugger as the schema has it. */
export function withDebugger(manifest, schema) {
  const debuggers = [
    {
      type: "zentracer",
      label: "ZenTracer",
      languages: ["python"],
      variables: { pickProcess: "zentracer.pickProcess" },
      configurationAttributes: {
        launch: attributes(schema, "launch"),
        attach: attributes(schema, "attach"),
      },
      configurationSnippets: snippets(schema),
    },
  ];
  const contributes = { ...manifest.contributes, debuggers };
  return `${JSON.stringify({ ...manifest, contributes }, null, 2)}\n`;
}

function attributes(schema, request) {
  const own = definition(schema, schema.configurations[request]);
  const both = definition(schema, schema.configurations.both);
  const properties = { ...both.properties, ...own.properties };
  return { properties: sorted(inlined(schema, properties)) };
}

function definition(schema, node) {
  return schema.$defs[reference(node)];
}

/** VS Code knows no definitions here, so each reference is replaced by what it refers to. */
function inlined(schema, node) {
  if (Array.isArray(node)) return node.map((part) => inlined(schema, part));
  if (typeof node !== "object" || node === null) return node;
  if (node.$ref) {
    const { $ref, ...beside } = node;
    return inlined(schema, { ...withFilters(schema, $ref), ...beside });
  }
  if (node.anyOf) return withoutNull(schema, node);
  const { title, description, required, additionalProperties, ...rest } = node;
  const copy = Object.fromEntries(
    Object.entries(rest).map(([key, part]) => [key, key === "default" ? part : inlined(schema, part)]),
  );
  if (copy.properties) copy.additionalProperties = false;
  else if (additionalProperties) copy.additionalProperties = values(additionalProperties);
  if (required?.length) copy.required = required;
  if (typeof description === "string") copy.markdownDescription = description;
  else if (description) copy.description = inlined(schema, description); // a property of that name
  return copy;
}

/** In a configuration what is missing is left out, so null never is a value to offer. */
function withoutNull(schema, { anyOf, default: otherwise, ...beside }) {
  const parts = anyOf.filter((part) => part.type !== "null");
  const isPlain = parts.every((part) => Object.keys(part).join() === "type");
  const node = { ...beside };
  if (otherwise !== null && otherwise !== undefined) node.default = otherwise;
  if (parts.length > 1 && isPlain) return inlined(schema, { ...node, type: parts.map((p) => p.type) });
  if (parts.length === 1) return inlined(schema, { ...parts[0], ...node });
  return { ...inlined(schema, node), anyOf: parts.map((part) => inlined(schema, part)) };
}

/** Values of a dictionary may be null: an environment variable is removed by it. */
function values(node) {
  return node.anyOf ? { type: node.anyOf.map((part) => part.type) } : node;
}

/** Names of tensor exceptions are completed with what they stop on. */
function withFilters(schema, ref) {
  const found = structuredClone(schema.$defs[ref.split("/").pop()]);
  const names = {
    enum: schema.filters.map((filter) => filter.id),
    markdownEnumDescriptions: schema.filters.map((filter) => filter.description),
  };
  const { filter, breakOn } = found.properties ?? {};
  if (filter) Object.assign(filter, names);
  if (breakOn) {
    const text = breakOn.items.anyOf.find((part) => part.type === "string");
    Object.assign(text, names);
  }
  return found;
}

function sorted(properties) {
  return Object.fromEntries(Object.entries(properties).sort(([a], [b]) => a.localeCompare(b, "en")));
}
