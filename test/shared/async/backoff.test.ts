/** Backoff with full jitter: its bounds, its growth, its cap. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { backoffMs } from "../../../lambdas/shared/async/waiting.ts";

const almostOne = 1 - Number.EPSILON;

describe("backoff", () => {
  it("doubles its upper bound at every attempt until the cap", () => {
    const bounds = [0, 1, 2, 3, 4, 5].map((attempt) =>
      backoffMs({ attempt, baseMs: 100, capMs: 1000, random: () => almostOne }),
    );
    expect(bounds).toEqual([99, 199, 399, 799, 999, 999]);
  });

  it("may be nothing at all: the jitter is full", () => {
    expect(backoffMs({ attempt: 5, baseMs: 100, capMs: 1000, random: () => 0 })).toBe(0);
  });

  it("spreads evenly below its bound", () => {
    expect(backoffMs({ attempt: 0, baseMs: 100, capMs: 1000, random: () => 0.5 })).toBe(50);
  });

  it("is a whole number of milliseconds from 0 to below the cap for any attempt, however late", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 1_000_000 }),
        fc.integer({ min: 1, max: 60_000 }),
        fc.integer({ min: 1, max: 900_000 }),
        fc.double({ min: 0, max: almostOne, noNaN: true }),
        (attempt, baseMs, capMs, jitter) => {
          const delayMs = backoffMs({ attempt, baseMs, capMs, random: () => jitter });
          expect(Number.isSafeInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(Math.min(capMs, baseMs * 2 ** attempt));
        },
      ),
    );
  });
});
