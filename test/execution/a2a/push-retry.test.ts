/** Whether a notification that was not taken is sent again, and when. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { planNextPush } from "../../../lambdas/execution/a2a/push-request.ts";

const nowMs = Date.parse("2026-11-02T10:00:00Z");
const statusOf = (status: number, retryAfter?: string) => ({ status, retryAfter });

function decide(
  outcome: Parameters<typeof planNextPush>[0]["outcome"],
  { attempt = 0, random = (): number => 0 } = {},
) {
  return planNextPush({ outcome, attempt, nowMs, random });
}

describe("a notification", () => {
  it("is done where the receiver says so, by any status of success", () => {
    for (const status of [200, 201, 202, 204, 299]) expect(decide(statusOf(status))).toEqual({ next: "done" });
  });

  it("is given up where the receiver will never take it, or sends it elsewhere", () => {
    for (const status of [300, 301, 302, 307, 308, 304, 400, 401, 403, 404, 410, 413, 422]) {
      expect(decide(statusOf(status))).toEqual({ next: "over" });
    }
  });

  it("is given up where its address is not for everybody", () => {
    expect(decide({ reason: "permission_denied" })).toEqual({ next: "over" });
  });

  it("is sent again where the receiver or the way to it may do better", () => {
    for (const status of [408, 429, 500, 502, 503, 504]) {
      expect(decide(statusOf(status))).toEqual({ next: "again", delayMs: 0 });
    }
    for (const reason of ["unavailable", "invalid_response"])
      expect(decide({ reason })).toMatchObject({ next: "again" });
  });

  it("is sent eight times at most, within some ten minutes where the receiver wishes nothing else", () => {
    const random = () => 0.999999;
    const delays: number[] = [];
    for (let attempt = 0; ; attempt++) {
      const result = decide(statusOf(503), { attempt, random });
      if (result.next !== "again") break;
      delays.push(result.delayMs);
    }
    expect(delays).toHaveLength(7);
    const total = delays.reduce((sum, ms) => sum + ms, 0);
    expect(total).toBeGreaterThan(9 * 60_000);
    expect(total).toBeLessThan(11 * 60_000);
  });

  it("waits as long as the receiver asks for, in seconds or until a date, and five minutes at most", () => {
    expect(decide(statusOf(503, "17"))).toEqual({ next: "again", delayMs: 17_000 });
    expect(decide(statusOf(429, "Mon, 02 Nov 2026 10:00:30 GMT"))).toEqual({ next: "again", delayMs: 30_000 });
    expect(decide(statusOf(429, "Mon, 02 Nov 2026 09:00:00 GMT"))).toEqual({ next: "again", delayMs: 0 });
    expect(decide(statusOf(503, "86400"))).toEqual({ next: "again", delayMs: 300_000 });
  });

  it("waits a time that any receiver's wish leaves whole and bounded", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.nat().map(String), fc.date().map(String)),
        fc.nat({ max: 6 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (retryAfter, attempt, drawn) => {
          const result = decide(statusOf(503, retryAfter), { attempt, random: () => drawn });
          const delayMs = result.next === "again" ? result.delayMs : Number.NaN;
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(300_000);
        },
      ),
    );
  });
});
