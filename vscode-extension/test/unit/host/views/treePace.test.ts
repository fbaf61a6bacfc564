import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pace } from "../../../../src/pure/treePace";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("the first request is served at once, those that come soon after it together", () => {
  const run = vi.fn();
  const pace = new Pace(250, run);
  pace.request();
  expect(run).toHaveBeenCalledTimes(1);
  pace.request();
  pace.request();
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(250);
  expect(run).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(250);
  pace.request();
  expect(run).toHaveBeenCalledTimes(3);
});

test("a stream of requests is served all the time", () => {
  const run = vi.fn();
  const pace = new Pace(250, run);
  for (let time = 0; time < 1000; time += 50) {
    pace.request();
    vi.advanceTimersByTime(50);
  }
  expect(run).toHaveBeenCalledTimes(5);
});

test("nothing runs after the end", () => {
  const run = vi.fn();
  const pace = new Pace(250, run);
  pace.request();
  pace.request();
  pace.dispose();
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(1);
});
