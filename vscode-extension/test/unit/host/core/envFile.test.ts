import { expect, test } from "vitest";
import { parseEnvFile } from "../../../../src/pure/envFile";

test.each([
  ["A=1", { A: "1" }],
  ["export A = 1  ", { A: "1" }],
  ["\uFEFFA=1\r\nB=2\r\n", { A: "1", B: "2" }],
  ["# A=1\n\nnonsense\n2A=3", {}],
  ["A=x # why\nB=#none\nC=a#b", { A: "x", B: "", C: "a#b" }],
  ["A='x # ${HOME}' # why", { A: "x # ${HOME}" }],
  ['A="x # \\"y\\"\\nz"', { A: 'x # "y"\nz' }],
  ["A=1\nB=${A}2:${HOME}:${GONE}", { A: "1", B: "12:/home/me:" }],
  ['B="${HOME}/x"', { B: "/home/me/x" }],
  ["A=a=b", { A: "a=b" }],
])("%j is read", (text, found) => {
  expect(parseEnvFile(text, { HOME: "/home/me" })).toEqual(found);
});
