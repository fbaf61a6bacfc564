import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ViewQuery } from "../../../src/pure/tensorQueries";
import { GIVE_UP_MS, Lane, SLOW_MS } from "../../../webviews/shared/lane";
import { recorded } from "./recorded";

const FIRST: ViewQuery = { view: "image", slice: "0, :, :" };
const SECOND: ViewQuery = { view: "image", slice: "1, :, :" };
const THIRD: ViewQuery = { view: "image", slice: "2, :, :" };
const BODY = recorded("logits.image");

describe("a lane", () => {
  let asked: ViewQuery[];
  let cancelled: number[];
  let readable: boolean;
  let lane: Lane;

  beforeEach(() => {
    vi.useFakeTimers();
    asked = [];
    cancelled = [];
    readable = true;
    lane = new Lane({
      ask: (query) => asked.push(query),
      cancel: (id) => cancelled.push(id),
      changed: () => undefined,
      readable: () => readable,
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("asks once for the same thing", () => {
    lane.want(FIRST);
    lane.want({ ...FIRST });
    expect(asked).toEqual([FIRST]);
    lane.answer(1, BODY);
    lane.want(FIRST);
    expect(asked).toEqual([FIRST]);
    expect(lane.current).toBe(true);
  });

  test("has one question in flight, and then asks the latest only", () => {
    lane.want(FIRST);
    lane.want(SECOND);
    lane.want(THIRD);
    expect(asked).toEqual([FIRST]);
    lane.answer(1, BODY);
    expect(asked).toEqual([FIRST, THIRD]);
    expect(lane.shown).toBe(BODY);
    expect(lane.current).toBe(false);
    lane.answer(2, BODY);
    expect(lane.current).toBe(true);
  });

  test("shows again what it has seen, without a question", () => {
    lane.want(FIRST);
    lane.answer(1, BODY);
    lane.want(SECOND);
    lane.answer(2, { ...BODY, slice: "1" });
    lane.want(FIRST);
    expect(asked).toHaveLength(2);
    expect(lane.shown).toBe(BODY);
  });

  test("asks everything anew after the program went on, and keeps the picture meanwhile", () => {
    lane.want(FIRST);
    lane.answer(1, BODY);
    lane.renew();
    expect(lane.shown).toBe(BODY);
    expect(lane.current).toBe(false);
    lane.want(FIRST);
    expect(asked).toEqual([FIRST, FIRST]);
  });

  test("takes no answer from before", () => {
    lane.want(FIRST);
    lane.renew();
    expect(cancelled).toEqual([1]);
    expect(lane.answer(1, BODY)).toBe(false);
    expect(lane.shown).toBeUndefined();
  });

  test("waits while nothing can be read", () => {
    readable = false;
    lane.want(FIRST);
    expect(asked).toEqual([]);
    readable = true;
    lane.want(FIRST);
    expect(asked).toEqual([FIRST]);
  });

  test("cancels what is out of sight", () => {
    lane.want(FIRST);
    lane.want(undefined);
    expect(cancelled).toEqual([1]);
  });

  test("says only after a while that it is slow", () => {
    lane.want(FIRST);
    vi.advanceTimersByTime(SLOW_MS - 1);
    expect(lane.slow).toBe(false);
    vi.advanceTimersByTime(1);
    expect(lane.slow).toBe(true);
    lane.answer(1, BODY);
    expect(lane.slow).toBe(false);
  });

  test("gives up, says so, and can be asked again", () => {
    lane.want(FIRST);
    vi.advanceTimersByTime(GIVE_UP_MS);
    expect(lane.failure).toContain("The program does not answer");
    expect(lane.busy).toBe(false);
    lane.want(FIRST);
    expect(asked).toHaveLength(1);
    lane.retry();
    expect(asked).toHaveLength(2);
    lane.answer(2, BODY);
    expect(lane.failure).toBeUndefined();
  });

  test("a failure of an old question is not told", () => {
    lane.want(FIRST);
    lane.want(SECOND);
    lane.fail(1, "too late");
    expect(lane.failure).toBeUndefined();
    expect(asked).toEqual([FIRST, SECOND]);
    lane.fail(2, "gone");
    expect(lane.failure).toBe("gone");
  });
});
