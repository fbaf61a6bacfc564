import { expect, test } from "vitest";
import {
  type Configuration,
  type Outcome,
  completed,
  environmentOf,
  isEmpty,
  ofFile,
  ofStart,
  pythonOf,
} from "../../../../src/pure/configuration";

const FILE = { path: "/work/train.py", languageId: "python", isUntitled: false };

function sentenceOf(outcome: Outcome): string {
  return outcome.ok ? "" : outcome.sentence;
}

function valueOf(outcome: Outcome): Configuration {
  if (!outcome.ok) throw new Error(outcome.sentence);
  return outcome.value;
}

test("without launch.json the open file is debugged", () => {
  expect(isEmpty({})).toBe(true);
  expect(isEmpty({ type: "zentracer" })).toBe(false);
  expect(valueOf(ofFile(FILE))).toEqual({
    type: "zentracer",
    request: "launch",
    name: "train.py",
    program: "/work/train.py",
  });
  expect(valueOf(ofFile({ ...FILE, path: "C:\\work\\train.py" }))["name"]).toBe("train.py");
});

test.each([
  [undefined, "Open the Python file"],
  [{ ...FILE, languageId: "markdown" }, "Open the Python file"],
  [{ ...FILE, isUntitled: true }, "Save the file first"],
])("%j cannot be debugged, and a sentence says why", (file, sentence) => {
  expect(sentenceOf(ofFile(file))).toContain(sentence);
  expect(sentenceOf(completed({ request: "launch" }, file, "/work"))).toContain(sentence);
});

test("without launch.json a file can also run without being debugged", () => {
  expect(valueOf(ofStart({ noDebug: true }, FILE))).toMatchObject({ noDebug: true, program: FILE.path });
  expect(sentenceOf(ofStart({ noDebug: true }, undefined))).toContain("Open the Python file");
});

test.each([[""], [null]])("a program %j stands for the open file", (program) => {
  const found = valueOf(completed({ request: "launch", program }, FILE, undefined));
  expect(found["program"]).toBe("/work/train.py");
});

test("what is missing is completed, what is there stays", () => {
  const bare = valueOf(completed({ request: "launch" }, FILE, "/work"));
  expect(bare).toEqual({
    request: "launch",
    program: "/work/train.py",
    console: "integratedTerminal",
    cwd: "/work",
    showReturnValue: true,
  });
  const own = { request: "launch", module: "m", console: "internalConsole", cwd: "/x", showReturnValue: false };
  expect(valueOf(completed(own, FILE, "/work"))).toEqual(own);
  expect(valueOf(completed({ request: "launch" }, FILE, undefined))).not.toHaveProperty("cwd");
});

test.each<[Configuration, string]>([
  [{}, '"request" has to be'],
  [{ request: "run" }, '"request" has to be'],
  [{ request: "launch", program: "a", module: "b" }, 'both "program" and "module"'],
  [{ request: "launch", program: "a", env: "A=1" }, '"env" has to be an object'],
  [{ request: "launch", program: "a", args: 1 }, '"args" has to be a list'],
  [{ request: "launch", program: "a", python: "p", pythonPath: "q" }, 'Keep "python"'],
  [{ request: "attach" }, 'needs "connect"'],
  [{ request: "attach", connect: { port: 1 }, processId: 2 }, 'both "connect" and "processId"'],
])("%j is refused with a sentence", (configuration, sentence) => {
  expect(sentenceOf(completed(configuration, FILE, "/work"))).toContain(sentence);
});

test.each<[Configuration]>([
  [{ request: "attach", connect: { port: 5678 } }],
  [{ request: "attach", listen: { port: 5678 } }],
  [{ request: "attach", processId: "4711" }],
  [{ request: "attach", host: "box", port: 5678 }],
  [{ request: "attach", subProcessId: 4711 }],
])("%j can attach", (configuration) => {
  expect(valueOf(completed(configuration, undefined, undefined))).toMatchObject(configuration);
});

test("the interpreter is a name, or a list with its arguments", () => {
  expect(pythonOf({})).toEqual([]);
  expect(pythonOf({ python: "  " })).toEqual([]);
  expect(pythonOf({ python: "python3" })).toEqual(["python3"]);
  expect(pythonOf({ pythonPath: "python3" })).toEqual(["python3"]);
  expect(pythonOf({ python: ["py", "-3.12"] })).toEqual(["py", "-3.12"]);
});

test("variables in the configuration win over the file's", () => {
  expect(environmentOf({}, {})).toBeUndefined();
  expect(environmentOf({ env: { A: "1", C: null } }, { A: "2", B: "3" })).toEqual({
    A: "1",
    B: "3",
    C: null,
  });
});
