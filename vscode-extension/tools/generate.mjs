// Writes what depends on the JSON Schema of the messages: node generate.mjs SCHEMA FILE
// FILE gets the types, shapes.ts beside it what is needed to check a message while running, and
// package.json the attributes of launch and attach.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { generated } from "./generated.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [schemaFile, outFile] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, "utf8"));

const files = await generated(read(schemaFile), read(join(root, "package.json")));
for (const [file, text] of Object.entries(files)) {
  const isTypes = basename(file) === "generated.ts";
  writeFileSync(isTypes ? outFile : join(root, file), text);
}
