import { expect, test } from "vitest";
import {
  type EventName,
  Mismatch,
  type RequestName,
  isEventName,
  readAnswer,
  readEvent,
} from "../../../../src/pure/guards";
import { EVENTS, REQUESTS } from "./messages";

test.each(Object.entries(EVENTS))("the event %s is read as it was sent", (name, body) => {
  expect(isEventName(name)).toBe(true);
  expect(readEvent(name as EventName, body)).toEqual(body);
});

test.each(Object.entries(REQUESTS))("the answer to %s is read as it was sent", (name, { body }) => {
  expect(readAnswer(name as RequestName, body)).toEqual(body);
});

test("names that every object has are no events", () => {
  expect(isEventName("constructor")).toBe(false);
  expect(isEventName("stats")).toBe(false);
});

test("what an older adapter does not send gets its default", () => {
  const found = readEvent("step", { pid: 7, step: 3 });
  expect(found).toEqual({ pid: 7, step: 3, rank: null, loss: null, overhead: null });
  const old = { id: 1, filter: "zentracer.nonfinite", label: "NaN or Inf", source: "editor" };
  const { breakpoints } = readEvent("breakpoints", { breakpoints: [old] });
  expect(breakpoints).toEqual([
    { ...old, condition: null, module: null, enabled: true, verified: false, message: null, hits: 0, last: null },
  ]);
});

test("what a newer adapter sends besides stays", () => {
  expect(readEvent("notice", { message: "hello", breakpoint_id: null, colour: "red" })).toEqual({
    message: "hello",
    breakpoint_id: null,
    colour: "red",
  });
});

test.each<[EventName, unknown, string]>([
  ["step", undefined, "step should be an object, but is missing"],
  ["step", null, "step should be an object, but is null"],
  ["step", [], "step should be an object, but is a list"],
  ["step", { pid: 7 }, "step.step should be a number, but is missing"],
  ["step", { pid: "7", step: 3 }, "step.pid should be a number, but is string"],
  ["processes", { processes: {} }, "processes.processes should be a list, but is object"],
  [
    "processes",
    { processes: [{ pid: 1, python: "3.11", version: "1", frameworks: [2] }] },
    "processes.processes[0].frameworks[0] should be a string, but is number",
  ],
])("%s with %j cannot be read, and the sentence says where", (name, body, sentence) => {
  expect(() => readEvent(name, body)).toThrow(new Mismatch(sentence));
});
