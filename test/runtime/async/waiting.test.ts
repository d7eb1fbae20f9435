/** Backoff, and what a Retry-After header says. */
import { describe, expect, it } from "@jest/globals";
import { backoffMs, parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const almostOne = 1 - Number.EPSILON;

describe("backoff", () => {
  it("spreads delays evenly below a bound that doubles at every attempt until the cap", () => {
    const bounds = [0, 1, 2, 3, 4, 5].map((attempt) =>
      backoffMs({ attempt, baseMs: 100, capMs: 1000, random: () => almostOne }),
    );
    expect(bounds).toEqual([99, 199, 399, 799, 999, 999]);
    const early = { attempt: 0, baseMs: 100, capMs: 1000 };
    expect([0, 0.5].map((jitter) => backoffMs({ ...early, random: () => jitter }))).toEqual([
      0, 50,
    ]);
  });

  it("returns a whole number of milliseconds from 0 to below the cap for any attempt", () => {
    forAll(
      fc.nat({ max: 1_000_000 }),
      fc.integer({ min: 1, max: 60_000 }),
      fc.integer({ min: 1, max: 900_000 }),
      fc.double({ min: 0, max: almostOne, noNaN: true }),
    ).hold((attempt, baseMs, capMs, jitter) => {
      const delayMs = backoffMs({ attempt, baseMs, capMs, random: () => jitter });
      expect(Number.isSafeInteger(delayMs)).toBe(true);
      expect(delayMs).toBeGreaterThanOrEqual(0);
      expect(delayMs).toBeLessThanOrEqual(Math.min(capMs, baseMs * 2 ** attempt));
    });
  });
});

const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0);

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["120", 120_000],
    [" 7 ", 7000],
    ["Sat, 21 Nov 2026 12:00:30 GMT", 30_000],
    ["Sat, 21 Nov 2026 11:59:00 GMT", 0],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["99999999999999999999", undefined],
    ["soon", undefined],
    ["", undefined],
    [null, undefined],
    [undefined, undefined],
  ])("parses the Retry-After header %p as %p ms", (header, ms) => {
    expect(parseRetryAfter({ header, nowMs })).toBe(ms);
  });

  it("returns a delay that a timer can take, or nothing, for any Retry-After header", () => {
    forAll(fc.string()).hold((header) => {
      const ms = parseRetryAfter({ header, nowMs });
      expect(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
    });
  });
});
