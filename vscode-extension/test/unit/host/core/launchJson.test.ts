import { expect, test } from "vitest";
import { insertionOf } from "../../../../src/pure/launchJson";

const BODY = { name: "train", type: "zentracer", args: ["a"] };

function inserted(text: string): string {
  const found = insertionOf(text, BODY);
  if (!found) throw new Error("no place was found");
  return text.slice(0, found.offset) + found.text + text.slice(found.offset);
}

test("a configuration comes first, and comments stay", () => {
  const before = `{
  // of the team
  "compounds": [{ "name": "both", "configurations": ["a", "b"] }],
  "configurations": [ // mine
    { "name": "a" } /* keep */
  ]
}`;
  expect(inserted(before)).toBe(`{
  // of the team
  "compounds": [{ "name": "both", "configurations": ["a", "b"] }],
  "configurations": [
    {
      "name": "train",
      "type": "zentracer",
      "args": [
        "a"
      ]
    }, // mine
    { "name": "a" } /* keep */
  ]
}`);
});

test.each(['{"configurations": []}', '{"configurations": [\n  // none yet\n]}', '{\n\t"configurations" : [ ]\n}'])(
  "into the empty list of %j it goes without a comma",
  (before) => {
    const json = inserted(before).replace(/\/\/.*/g, "");
    expect(JSON.parse(json)).toEqual({ configurations: [BODY] });
  },
);

test.each(["", "{}", '{ "version": "configurations", "x": [] }', '{ // "configurations": [\n}'])(
  "%j has no list",
  (text) => {
    expect(insertionOf(text, BODY)).toBeUndefined();
  },
);
