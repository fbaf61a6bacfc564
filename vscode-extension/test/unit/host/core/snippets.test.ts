import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { completed } from "../../../../src/pure/configuration";
import { snippetsOf } from "../../../../src/pure/snippets";

const PACKAGE = new URL("../../../../package.json", import.meta.url);
const snippets = snippetsOf(JSON.parse(readFileSync(PACKAGE, "utf8")));
const bodies = Object.fromEntries(snippets.map(({ label, body }) => [label, body]));

test("marks of snippets become what launch.json has", () => {
  expect(bodies["ZenTracer: Python file"]).toMatchObject({ program: "${file}" });
  expect(bodies["ZenTracer: torchrun"]).toMatchObject({
    module: "torch.distributed.run",
    args: ["--standalone", "--nproc-per-node", "2", "${file}"],
  });
  expect(bodies["ZenTracer: Attach to a port"]).toMatchObject({
    connect: { host: "127.0.0.1", port: 5678 },
  });
  expect(bodies["ZenTracer: Attach to a process"]).toMatchObject({
    processId: "${command:pickProcess}",
  });
  expect(bodies["ZenTracer: Python file, with a condition"]).toMatchObject({
    zentracer: {
      breakOn: [
        { filter: "zentracer.nonfinite", condition: "match('encoder.*') and step > 10" },
      ],
    },
  });
});

test.each(snippets)("$label can be started as it is", ({ body, description }) => {
  expect(completed(body, undefined, undefined)).toMatchObject({ ok: true });
  expect(description).not.toBe("undefined");
});

test("a package.json without snippets has none", () => {
  expect(snippetsOf({})).toEqual([]);
  expect(snippetsOf(undefined)).toEqual([]);
});
