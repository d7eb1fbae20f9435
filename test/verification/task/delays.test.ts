import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { pollDelay, retryDelayMs, turnDelay } from "../../../lambdas/verification/task/delays.ts";

describe("the delay before a poll", () => {
  it("begins with what the host asks for, grows by half with full jitter beyond it, and ends at 30 s", () => {
    const most = [0, 1, 2, 3].map((polls) => pollDelay({ polls, pollAfterMs: 1000 }));
    expect(most).toEqual([0, 500, 1250, 2375].map((jitterMs) => ({ delayMs: 1000, jitterMs })));
    expect(pollDelay({ polls: 1000, pollAfterMs: 1000 })).toEqual({ delayMs: 1000, jitterMs: 29_000 });
  });

  it("is never below what the host asks for within a quarter of an hour, and never beyond that or 30 s", () => {
    fc.assert(
      fc.property(fc.nat({ max: 5000 }), fc.option(fc.nat(), { nil: undefined }), (polls, pollAfterMs) => {
        const { delayMs, jitterMs } = pollDelay({ polls, pollAfterMs });
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(pollAfterMs ?? 500, 15 * 60_000));
        expect(delayMs).toBeGreaterThanOrEqual(100);
        expect(jitterMs).toBeGreaterThanOrEqual(0);
        expect(delayMs + jitterMs).toBeLessThanOrEqual(Math.max(30_000, Math.min(pollAfterMs ?? 0, 15 * 60_000)));
      }),
    );
  });
});

describe("other delays", () => {
  it("obey what the peer asks for, up to a quarter of an hour", () => {
    expect(retryDelayMs(1, 42_000)).toBe(42_000);
    expect(retryDelayMs(1, 3_600_000)).toBe(15 * 60_000);
    expect([1, 2, 3, 20].map((attempts) => retryDelayMs(attempts, undefined))).toEqual([1000, 2000, 4000, 60_000]);
  });

  it("look at a thread when the one before may have held it long enough, and every 75 seconds at least", () => {
    expect(turnDelay({ freeAtMs: 5000, nowMs: 1000 }).delayMs).toBe(5000);
    expect(turnDelay({ freeAtMs: 9_000_000, nowMs: 1000 }).delayMs).toBe(75_000);
    expect(turnDelay({ freeAtMs: 0, nowMs: 1000 }).delayMs).toBe(1000);
  });
});
