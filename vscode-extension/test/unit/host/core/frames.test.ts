import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FRAME_MS, OncePerFrame } from "../../../../src/pure/frames";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("many requests within a frame are one run, and the next frame is open again", () => {
  const run = vi.fn();
  const once = new OncePerFrame(run);
  for (let i = 0; i < 1000; i++) once.request();
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(FRAME_MS);
  expect(run).toHaveBeenCalledTimes(1);
  once.request();
  vi.advanceTimersByTime(FRAME_MS);
  expect(run).toHaveBeenCalledTimes(2);
});

test("what waits can be run at once, and is then done", () => {
  const run = vi.fn();
  const once = new OncePerFrame(run);
  once.flush();
  expect(run).not.toHaveBeenCalled();
  once.request();
  once.flush();
  vi.advanceTimersByTime(FRAME_MS);
  expect(run).toHaveBeenCalledTimes(1);
});

test("nothing runs after the end", () => {
  const run = vi.fn();
  const once = new OncePerFrame(run);
  once.request();
  once.dispose();
  vi.advanceTimersByTime(10 * FRAME_MS);
  expect(run).not.toHaveBeenCalled();
});
