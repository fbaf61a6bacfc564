import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { choices } from "../../../../src/pure/python/choices";
import { frameworkOf, importedFrameworks, installCommand } from "../../../../src/pure/python/imports";
import { type Sources, decide } from "../../../../src/pure/python/order";
import {
  type Machine,
  environmentPythons,
  expanded,
  filesOf,
  launcher,
  launcherPythons,
  pathPythons,
} from "../../../../src/pure/python/paths";
import { PROBE_PROGRAM, readProbe } from "../../../../src/pure/python/probe";

const LINUX: Machine = { platform: "linux", env: { PATH: "/usr/bin:relative:/opt/bin" } };
const WINDOWS: Machine = {
  platform: "win32",
  env: {
    Path: 'C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps;"C:\\Program Files\\Python312"',
    SystemRoot: "C:\\Windows",
  },
};

test("virtual environments of a folder", () => {
  expect(environmentPythons("/work", LINUX)).toEqual([
    "/work/.venv/bin/python",
    "/work/venv/bin/python",
  ]);
  expect(environmentPythons("C:\\work", WINDOWS)).toEqual([
    "C:\\work\\.venv\\Scripts\\python.exe",
    "C:\\work\\venv\\Scripts\\python.exe",
  ]);
});

test("interpreters on the PATH; the store's stand-ins of Windows come last", () => {
  expect(pathPythons(LINUX)).toEqual([
    "/usr/bin/python3",
    "/usr/bin/python",
    "/opt/bin/python3",
    "/opt/bin/python",
  ]);
  expect(pathPythons(WINDOWS)).toEqual([
    "C:\\Program Files\\Python312\\python.exe",
    "C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps\\python.exe",
  ]);
  expect(pathPythons({ platform: "linux", env: {} })).toEqual([]);
});

test("a command is looked for on the PATH, a path is taken as it is", () => {
  expect(filesOf("python3", LINUX)).toEqual(["/usr/bin/python3", "/opt/bin/python3"]);
  expect(filesOf("/x/python", LINUX)).toEqual(["/x/python"]);
  expect(filesOf("C:\\x\\python", WINDOWS)).toEqual(["C:\\x\\python.exe"]);
  expect(filesOf("C:\\x\\python.exe", WINDOWS)).toEqual(["C:\\x\\python.exe"]);
});

test("Windows' launcher knows more interpreters", () => {
  expect(launcher(LINUX)).toBeUndefined();
  expect(launcher(WINDOWS)).toBe("C:\\Windows\\py.exe");
  const answer =
    " -V:3.13 *        C:\\Program Files\\Python313\\python.exe\r\n" +
    " -V:3.9-32        D:\\py39\\python.exe\r\nsomething else\r\n";
  expect(launcherPythons(answer)).toEqual([
    "C:\\Program Files\\Python313\\python.exe",
    "D:\\py39\\python.exe",
  ]);
});

test("paths in settings may start at the home or the workspace folder", () => {
  expect(expanded("~/venv/bin/python", "/work", "/home/me")).toBe("/home/me/venv/bin/python");
  expect(expanded("${workspaceFolder}/p", "/work", "/home/me")).toBe("/work/p");
  expect(expanded("${workspaceFolder}/p", undefined, "/h")).toBe("${workspaceFolder}/p");
  expect(expanded("~x/$&", "/work", "/home/$1")).toBe("~x/$&");
  expect(expanded("  ", undefined, "/h")).toBe("");
});

function sources(found: Partial<Record<keyof Sources, string | string[]>>): Sources {
  const single = (name: keyof Sources) =>
    vi.fn(() => Promise.resolve(found[name] as string | undefined));
  return {
    pythonExtension: single("pythonExtension"),
    chosen: single("chosen"),
    setting: single("setting"),
    environment: single("environment"),
    path: vi.fn(() => Promise.resolve((found.path ?? []) as string[])),
  };
}

test.each([
  [{ pythonExtension: "e", chosen: "c", setting: "s", environment: "v" }, "e"],
  [{ chosen: "c", setting: "s", environment: "v" }, "c"],
  [{ setting: "s", environment: "v" }, "s"],
  [{ environment: "v", path: ["p"] }, "v"],
  [{ path: ["p"] }, "p"],
])("of %j the first decides", async (found, python) => {
  expect(await decide(sources(found))).toMatchObject({ kind: "take", python });
});

test("several on the PATH are asked about, none is said", async () => {
  expect(await decide(sources({ path: ["p", "q"] }))).toEqual({ kind: "ask", pythons: ["p", "q"] });
  expect(await decide(sources({}))).toEqual({ kind: "none" });
});

test("who is not needed is not asked", async () => {
  const all = sources({ setting: "s" });
  await decide(all);
  expect(all.environment).not.toHaveBeenCalled();
  expect(all.path).not.toHaveBeenCalled();
});

test("each interpreter is offered once, those of use first", () => {
  const probe = (executable: string, version: string, frameworks: string[] = []) => ({
    version,
    isSupported: version !== "3.8.1",
    executable,
    frameworks: new Set(frameworks),
  });
  const offered = choices([
    { python: "/broken", probe: undefined },
    { python: "/old", probe: probe("/old", "3.8.1") },
    { python: "/shims/python3", probe: probe("/v/bin/python3", "3.11.7") },
    { python: "/shims/python", probe: probe("/v/bin/python", "3.11.7") },
    { python: "/venv/bin/python", probe: probe("/venv/bin/python", "3.11.7", ["torch"]) },
  ]);
  expect(offered.map(({ python }) => python)).toEqual([
    "/venv/bin/python",
    "/shims/python3",
    "/old",
    "/broken",
  ]);
});

test("what lies in the folder where the probe runs is not imported", () => {
  const folder = mkdtempSync(join(tmpdir(), "probe-"));
  try {
    writeFileSync(join(folder, "json.py"), "raise SystemExit('this is not the real one')");
    const options = { encoding: "utf8", cwd: folder } as const;
    expect(readProbe(execFileSync("python3", ["-c", PROBE_PROGRAM], options))).toBeDefined();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a real interpreter answers the probe", () => {
  const output = execFileSync("python3", ["-c", PROBE_PROGRAM], { encoding: "utf8" });
  const probe = readProbe(output);
  expect(probe?.isSupported).toBe(true);
  expect(probe?.version).toMatch(/^3\.\d+\.\d+$/);
  expect(probe?.executable).toContain("python");
  expect(probe?.frameworks).toBeInstanceOf(Set);
});

const answer = (version: number[], rest = '"executable": "/p", "frameworks": ["torch"]') =>
  `noise\r\nzentracer-probe:{"version": ${JSON.stringify(version)}, ${rest}}\r\nmore`;

test.each([
  [[3, 9, 0], true],
  [[3, 14, 1], true],
  [[4, 0, 0], true],
  [[3, 8, 18], false],
  [[2, 7, 18], false],
])("Python %j is supported: %s", (version, isSupported) => {
  expect(readProbe(answer(version))).toEqual({
    version: version.join("."),
    isSupported,
    executable: "/p",
    frameworks: new Set(["torch"]),
  });
});

test("old versions cannot tell which packages they have", () => {
  const probe = readProbe(answer([2, 7, 18], '"executable": null, "frameworks": null'));
  expect(probe).toMatchObject({ executable: "", frameworks: undefined });
});

test.each(["", "Python 3.11", "zentracer-probe:{", "zentracer-probe:[]", 'zentracer-probe:{"version": 3}'])(
  "%j is no answer",
  (output) => {
    expect(readProbe(output)).toBeUndefined();
  },
);

test.each([
  ["import torch", ["torch"]],
  ["import os, torch.nn as nn", ["torch"]],
  ["from torch.nn import Linear\nimport jax", ["torch", "jax"]],
  ["import numpy  # like torch", []],
  ["import torchvision", []],
  ["from .torch import x", []],
  ["try:\n    import torch\nexcept ImportError:\n    torch = None", []],
  ["import\ttensorflow\r\n", ["tensorflow"]],
])("%j needs %j", (source, needed) => {
  expect(importedFrameworks(source)).toEqual(needed);
});

test("a module of a framework needs the framework", () => {
  expect(frameworkOf("torch.distributed.run")).toBe("torch");
  expect(frameworkOf("torchvision.train")).toBeUndefined();
  expect(frameworkOf("package.torch")).toBeUndefined();
});

test("the command that installs can be pasted", () => {
  expect(installCommand("/v/bin/python", "torch")).toBe("/v/bin/python -m pip install torch");
  expect(installCommand("C:\\My Py\\python.exe", "jax")).toBe(
    '"C:\\My Py\\python.exe" -m pip install jax',
  );
});
