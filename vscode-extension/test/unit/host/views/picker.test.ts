import { expect, test } from "vitest";
import { Latest, byHand, isGlob, listing } from "../../../../src/pure/pickerModel";
import type { ModuleInfo, Modules } from "../../../../src/wire/generated";

const ENCODER: ModuleInfo = { name: "encoder", class_name: "Encoder", parameters: 12416, children: 2 };
const LINEAR: ModuleInfo = { name: "encoder.0", class_name: "Linear", parameters: 2112, children: 0 };
const MODEL: ModuleInfo = { name: "Net", class_name: "Net", parameters: 1, children: 2 };

function answer(modules: ModuleInfo[], changes: Partial<Modules> = {}): Modules {
  return { modules, matching: modules.length, total: 100000, note: null, ...changes };
}

test("modules with their class and size, how many there are, and how to see the others", () => {
  const found = listing("", answer([MODEL, ENCODER, LINEAR], { matching: 100000 }));
  expect(found.title).toBe("Break in module (100,000)");
  expect(found.placeholder).toContain("100,000 modules");
  expect(found.rows.map((row) => [row.label, row.description, row.below])).toEqual([
    ["Net", "1 parameter", undefined],
    ["encoder", "Encoder · 12,416 parameters", "encoder.*"],
    ["encoder.0", "Linear · 2,112 parameters", undefined],
  ]);
  expect(found.more).toBe("99,997 more: type to narrow.");
});

test("a glob stands for itself, with the number of modules it matches", () => {
  const [first, second] = listing("encoder.*", answer([LINEAR])).rows;
  expect(first).toMatchObject({ label: "encoder.*", description: "use as glob · 1 module", value: "encoder.*" });
  expect(second?.value).toBe("encoder.0");
  expect(listing("encoder.*", answer([LINEAR])).title).toBe("Break in module (1 of 100,000)");
});

test("the name of a module with others below offers those, too", () => {
  const [first] = listing("encoder", answer([ENCODER, LINEAR])).rows;
  expect(first).toMatchObject({ value: "encoder.*", description: "use as glob · everything below encoder" });
});

test("a name that matches nothing can be used, and that is said", () => {
  const found = listing("decoder", answer([]));
  expect(found.rows.map((row) => row.description)).toEqual(["use as name"]);
  expect(found.more).toBe("No module matches.");
});

test("without a model it says why, and a name can be typed", () => {
  const none = listing("enc*", answer([], { total: 0, note: "No model was called yet." }));
  expect(none.rows.map((row) => row.description)).toEqual(["use as glob"]);
  expect(none.more).toBe("No model was called yet.");
  expect(byHand(" enc ", "No session.").rows[0]).toMatchObject({ value: "enc", label: "enc" });
  expect(byHand("", "No session.").rows).toEqual([]);
});

test("a remark of the adapter is shown with the modules", () => {
  expect(listing("", answer([LINEAR], { note: "These are the modules of rank 0.", total: 1 })).more).toBe(
    "These are the modules of rank 0.",
  );
});

test.each([
  ["encoder.*", true],
  ["layer?", true],
  ["[ab]", true],
  ["encoder.0", false],
])("what counts as a glob: %s", (query, is) => {
  expect(isGlob(query)).toBe(is);
});

test("only the answer to the last question counts", () => {
  const latest = new Latest();
  const first = latest.next();
  const second = latest.next();
  expect([first(), second()]).toEqual([false, true]);
});
