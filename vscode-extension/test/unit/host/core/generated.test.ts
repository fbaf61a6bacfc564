import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generated } from "../../../../tools/generated.mjs";

const EXTENSION = new URL("../../../../", import.meta.url);
const SCHEMA = new URL("../tests/wire/schema.json", EXTENSION);

const parsed = (url: URL): unknown => JSON.parse(readFileSync(url, "utf8"));
const files = await generated(parsed(SCHEMA), parsed(new URL("package.json", EXTENSION)));

test.each(Object.entries(files))("%s is up to date", (file, text) => {
  expect(readFileSync(new URL(file, EXTENSION), "utf8"), "run: make generate").toBe(text);
});
