// Writes TypeScript from the JSON Schema of the messages: node generate.mjs SCHEMA FILE
// FILE gets the types; shapes.ts beside it what is needed to check a message while running.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { shapesOf } from "./shapes.mjs";
import { typesOf } from "./types.mjs";

const [schemaFile, outFile] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaFile, "utf8"));
writeFileSync(outFile, await typesOf(schema));
writeFileSync(join(dirname(outFile), "shapes.ts"), shapesOf(schema));
