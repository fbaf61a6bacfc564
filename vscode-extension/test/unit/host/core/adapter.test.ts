import { expect, test } from "vitest";
import { adapterCommand, childAddress, whatWentWrong } from "../../../../src/pure/adapterCommand";
import { protocolMismatch } from "../../../../src/pure/protocol";
import { PROTOCOL_VERSION } from "../../../../src/wire/generated";

test("sessions of children go to the adapter of their parent", () => {
  const connect = { host: "::1", port: 5000 };
  expect(childAddress({ subProcessId: 4711, connect })).toEqual(connect);
  expect(childAddress({ subProcessId: 4711, connect: { port: 5000 } })).toEqual({
    host: "127.0.0.1",
    port: 5000,
  });
});

test.each([
  [{ connect: { host: "::1", port: 5000 } }],
  [{ subProcessId: 4711 }],
  [{ subProcessId: 4711, connect: { port: "5000" } }],
])("%j has an adapter of its own", (configuration) => {
  expect(childAddress(configuration)).toBeUndefined();
});

test("the adapter's command line", () => {
  const adapter = "/x/bundled/zentracer_dap";
  expect(adapterCommand({}, adapter, "/l/errors", undefined)).toBeUndefined();
  expect(adapterCommand({ debugAdapterPython: "/p" }, adapter, "/l/errors", undefined)).toEqual({
    command: "/p",
    args: [adapter, "--errors-to", "/l/errors"],
  });
  expect(adapterCommand({ debugAdapterPython: ["py", "-3"] }, adapter, "/l/errors", "/l")).toEqual({
    command: "py",
    args: ["-3", adapter, "--errors-to", "/l/errors", "--log-dir", "/l"],
  });
});

test("of a traceback the last line says what happened", () => {
  expect(whatWentWrong("Traceback …\n  File\nValueError: no\n\n")).toBe("ValueError: no");
  expect(whatWentWrong(" \n")).toBeUndefined();
  expect(whatWentWrong("--- 2026-11-30 14:40:47 ZenTracer 0.1.0, process 7 ---\n")).toBeUndefined();
  expect(whatWentWrong("Fatal Python error: Aborted\n\nThread 1:\n  File x")).toBe(
    "Fatal Python error: Aborted",
  );
  expect(whatWentWrong("x".repeat(1000))).toHaveLength(300);
});

test("another protocol is one sentence that says which side to upgrade", () => {
  expect(protocolMismatch("0.1.0", PROTOCOL_VERSION)).toBeUndefined();
  expect(protocolMismatch("0.1.0", PROTOCOL_VERSION - 1)).toContain("Upgrade the adapter");
  expect(protocolMismatch("9.0.0", PROTOCOL_VERSION + 1)).toContain("Update the extension");
});
