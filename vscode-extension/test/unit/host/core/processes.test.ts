import { expect, test } from "vitest";
import { commandOf, listCommand, parseProcesses, pythonProcesses } from "../../../../src/pure/processes";

test("lines of ps and of PowerShell are read", () => {
  expect(parseProcesses("   12 python train.py --lr 0.1\n 4711 /bin/sh\r\n8 \nnonsense")).toEqual([
    { pid: 12, command: "python train.py --lr 0.1" },
    { pid: 4711, command: "/bin/sh" },
  ]);
});

test("Linux' command lines are read", () => {
  expect(commandOf("python\0train.py\0--lr\x000.1\0")).toBe("python train.py --lr 0.1");
  expect(commandOf("")).toBe("");
});

test.each([
  ["python train.py", true],
  ["/usr/bin/python3.11 -m train", true],
  ['"C:\\Program Files\\Python312\\python.exe" train.py', true],
  ["vim python.txt", false],
  ["/usr/bin/pythonista", false],
  ["python /x/debugpy/adapter --port 1", false],
  ["python /x/bundled/zentracer_dap --errors-to f", false],
])("%s is a program to attach to: %s", (command, is) => {
  expect(pythonProcesses([{ pid: 1, command }], 99)).toHaveLength(is ? 1 : 0);
});

test("the latest comes first, the extension's own host not at all", () => {
  const all = [1, 3, 2].map((pid) => ({ pid, command: "python" }));
  expect(pythonProcesses(all, 2).map(({ pid }) => pid)).toEqual([3, 1]);
});

test("each system has a command that lists processes", () => {
  expect(listCommand("darwin")[0]).toBe("ps");
  expect(listCommand("win32")[0]).toBe("powershell.exe");
});
