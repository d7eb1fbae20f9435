import { describe, expect, it } from "@jest/globals";
import { pollDelay } from "@sekisho/verification/task/polls.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const minuteMs = 60_000;
const longestMs = 10 * minuteMs;
const longestObeyedMs = 15 * minuteMs;

/** As old as a task may be, and older. */
const ages = fc.nat({ max: 24 * 60 * minuteMs });
const pollsSoFar = fc.nat({ max: 5000 });
const advices = fc.option(fc.nat(), { nil: undefined });

describe("the delay before a poll", () => {
  it("starts with the delay that the host asks for, or 500 ms, and grows by at most half each time", () => {
    const mostOf = (polls: number, pollAfterMs?: number) => {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs: 60 * minuteMs, pollAfterMs });
      return delayMs + jitterMs;
    };
    expect([0, 1, 2].map((polls) => mostOf(polls))).toEqual([500, 750, 1125]);
    expect([0, 1, 2].map((polls) => mostOf(polls, 1000))).toEqual([1000, 1500, 2250]);
  });

  it("limits the poll delay to a fifth of the task's age and ten minutes, unless the host asks for more", () => {
    forAll(pollsSoFar, ages, advices).hold((polls, ageMs, pollAfterMs) => {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs, pollAfterMs });
      const askedForMs = Math.min(Math.max(pollAfterMs ?? 500, 100), longestObeyedMs);
      expect(delayMs + jitterMs).toBeLessThanOrEqual(
        Math.max(askedForMs, Math.min(ageMs / 5, longestMs)),
      );
    });
  });

  it("never polls earlier than the host asks for, up to a quarter of an hour", () => {
    forAll(pollsSoFar, ages, advices, fc.nat()).hold((polls, ageMs, pollAfterMs, ceilingMs) => {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs, pollAfterMs, ceilingMs });
      expect(delayMs).toBeGreaterThanOrEqual(Math.min(pollAfterMs ?? 500, longestObeyedMs));
      expect(delayMs).toBeGreaterThanOrEqual(100);
      expect(jitterMs).toBeGreaterThanOrEqual(0);
    });
  });

  it("adds jitter of up to half the delay, so that tasks sent together are not polled together", () => {
    const half = { delayMs: longestMs / 2, jitterMs: longestMs / 2 };
    expect(pollDelay({ polls: 1000, ageMs: 8 * 60 * minuteMs })).toEqual(half);
  });

  it.each([
    [10, 24, 33],
    [60, 35, 45],
    [480, 85, 100],
  ])("polls a task of %i minutes between %i and %i times", (minutes, least, most) => {
    // The first call has waited for 20 s; our own host asks for a second.
    let polls = 0;
    for (let ageMs = 20_000; ageMs < minutes * minuteMs; polls++) {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs, pollAfterMs: 1000 });
      ageMs += delayMs + jitterMs / 2 + 100;
    }
    expect(polls).toBeGreaterThanOrEqual(least);
    expect(polls).toBeLessThanOrEqual(most);
  });
});
