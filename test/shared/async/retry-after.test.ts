import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseRetryAfter } from "../../../lambdas/shared/async/waiting.ts";

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
  ])("%p is %p ms", (header, ms) => {
    expect(parseRetryAfter({ header, nowMs })).toBe(ms);
  });

  it("is a time that a timer can take, or nothing, whatever the header holds", () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const ms = parseRetryAfter({ header, nowMs });
        expect(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
      }),
    );
  });
});
