// Writes src/wire/generated.ts from the JSON Schema of the messages: node generate.mjs SCHEMA FILE
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const [schemaFile, outFile] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaFile, "utf8"));

/** A property a table entry; TypeScript's types then follow from the message's name. */
function table(entries) {
  return {
    type: "object",
    additionalProperties: false,
    required: Object.keys(entries),
    properties: entries,
  };
}

function requests(entries) {
  const typed = Object.entries(entries).map(([name, entry]) => [name, table(entry)]);
  return table(Object.fromEntries(typed));
}

const { events, requests: asked } = schema.editor;
const used = new Set();
function collect(node) {
  if (Array.isArray(node)) node.forEach(collect);
  else if (node && typeof node === "object") {
    const name = node.$ref?.split("/").pop();
    if (name && !used.has(name)) {
      used.add(name);
      collect(schema.$defs[name]);
    }
    Object.values(node).forEach(collect);
  }
}
collect(schema.editor);

/** Fields with a default are always sent, so readers need not ask; whoever sends may omit them. */
const sent = new Set();
for (const entry of Object.values(asked)) {
  const walk = (node) => {
    const name = node.$ref?.split("/").pop();
    if (!name || sent.has(name)) return;
    sent.add(name);
    for (const property of Object.values(schema.$defs[name].properties ?? {})) {
      for (const part of [property, property.items, ...(property.anyOf ?? [])]) if (part) walk(part);
    }
  };
  walk(entry.arguments);
}

const definitions = {};
for (const name of [...used].sort()) {
  const { title, ...definition } = structuredClone(schema.$defs[name]);
  definition.additionalProperties = false;
  for (const property of Object.values(definition.properties ?? {})) delete property.default;
  if (!sent.has(name)) definition.required = Object.keys(definition.properties ?? {});
  definitions[name] = definition;
}

const code = await compile(
  {
    title: "Messages",
    type: "object",
    additionalProperties: false,
    required: ["events", "requests"],
    properties: { events: table(events), requests: requests(asked) },
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
const version = `\nexport const PROTOCOL_VERSION = ${schema.protocol_version};\n`;
writeFileSync(outFile, code + version);
