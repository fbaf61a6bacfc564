// All generated files; a unit test compares them with those that are committed.
import { withDebugger } from "./configuration.mjs";
import { shapesOf } from "./shapes.mjs";
import { typesOf } from "./types.mjs";

/** Returns the text of each file, by its path in the extension's folder. */
export async function generated(schema, manifest) {
  return {
    "package.json": withDebugger(manifest, schema),
    "src/wire/generated.ts": await typesOf(schema),
    "src/wire/shapes.ts": shapesOf(schema),
  };
}
