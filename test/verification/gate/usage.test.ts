/** What a quota has room for, against a model that forgets nothing. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Quota } from "../../../lambdas/shared/config/schema.ts";
import {
  addCharge,
  noUsage,
  parseUsage,
  releaseCharge,
  removeCharge,
  type Usage,
} from "../../../lambdas/verification/gate/gate.ts";

const none = noUsage({ id: "usage:user:T1/U1" });
const count = fc.integer({ min: 1, max: 4 });
const anyQuota: fc.Arbitrary<Quota> = fc
  .record({ tasks: count, atOnce: count, perSeconds: fc.integer({ min: 1, max: 5 }) }, { requiredKeys: ["perSeconds"] })
  .filter(({ tasks, atOnce }) => tasks !== undefined || atOnce !== undefined);

const anyAct = fc.record({
  does: fc.constantFrom("charge", "charge", "release", "giveBack"),
  /** Before it. */
  passMs: fc.integer({ min: 0, max: 2000 }),
  id: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
  lastsMs: fc.integer({ min: 0, max: 6000 }),
});

type Granted = { id: string; atMs: number; untilMs: number; released: boolean };

describe("a quota", () => {
  it("grants what a model grants that forgets nothing, whatever was charged, released and given back before", () => {
    fc.assert(
      fc.property(anyQuota, fc.array(anyAct, { maxLength: 40 }), (quota, acts) => {
        let usage: Usage = none;
        let model: Granted[] = [];
        let nowMs = 1_000_000;
        const underWay = () => model.filter(({ released, untilMs }) => !released && untilMs > nowMs);
        const inWindow = () => model.filter(({ atMs }) => atMs + quota.perSeconds * 1000 > nowMs);
        for (const { does, passMs, id, lastsMs } of acts) {
          nowMs += passMs;
          if (does === "charge") {
            // An id that is known no more is a new one; nobody asks again for a task that is over.
            const isKnown = usage.charges.some((one) => one.id === id);
            const hasRoom =
              inWindow().length < (quota.tasks ?? Infinity) && underWay().length < (quota.atOnce ?? Infinity);
            const outcome = addCharge({ usage, quota, requestId: id, nowMs, untilMs: nowMs + lastsMs });
            expect("usage" in outcome).toBe(isKnown || hasRoom);
            if ("usage" in outcome) usage = outcome.usage;
            if (!isKnown && hasRoom) model.push({ id, atMs: nowMs, untilMs: nowMs + lastsMs, released: false });
          } else if (does === "release") {
            usage = releaseCharge({ usage, quota, requestId: id, nowMs });
            model = model.map((one) => (one.id === id ? { ...one, released: true } : one));
          } else if (usage.charges.some((one) => one.id === id)) {
            usage = removeCharge({ usage, quota, requestId: id, nowMs });
            model.splice(
              model.findLastIndex((one) => one.id === id),
              1,
            );
          }
        }
        expect(parseUsage(JSON.parse(JSON.stringify(usage)))).toEqual(usage);
      }),
    );
  });

  it("says when the next one is free: then it is, and a moment before it is not", () => {
    fc.assert(
      fc.property(
        count,
        fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 8, maxLength: 20 }),
        (tasks, gaps) => {
          const quota = { tasks, perSeconds: 5 };
          let usage: Usage = none;
          let nowMs = 0;
          for (const [index, gapMs] of gaps.entries()) {
            nowMs += gapMs;
            const at = (askedMs: number) =>
              addCharge({ usage, quota, requestId: String(index), nowMs: askedMs, untilMs: askedMs });
            const outcome = at(nowMs);
            if ("usage" in outcome) {
              usage = outcome.usage;
              continue;
            }
            const { retryAtMs = 0 } = outcome.over;
            expect(retryAtMs).toBeGreaterThan(nowMs);
            expect("usage" in at(retryAtMs)).toBe(true);
            expect("usage" in at(retryAtMs - 1)).toBe(false);
          }
        },
      ),
    );
  });

  it("says no time where too many are under way: nobody knows when one ends", () => {
    const quota = { atOnce: 1, perSeconds: 60 };
    const first = addCharge({ usage: none, quota, requestId: "a", nowMs: 0, untilMs: 1000 });
    const usage = "usage" in first ? first.usage : none;
    expect(addCharge({ usage, quota, requestId: "b", nowMs: 999, untilMs: 2000 })).toEqual({ over: {} });
    expect("usage" in addCharge({ usage, quota, requestId: "b", nowMs: 1000, untilMs: 2000 })).toBe(true);
    const released = releaseCharge({ usage, quota, requestId: "a", nowMs: 1 });
    expect("usage" in addCharge({ usage: released, quota, requestId: "b", nowMs: 1, untilMs: 2000 })).toBe(true);
  });

  it("knows a charge again as long as its task may be under way, long after it has left the window", () => {
    const quota = { tasks: 1, perSeconds: 1 };
    const charged = (usage: Usage, requestId: string, nowMs: number) => {
      const outcome = addCharge({ usage, quota, requestId, nowMs, untilMs: 100_000 });
      if (!("usage" in outcome)) throw new Error("There was room.");
      return outcome.usage;
    };
    const both = charged(charged(none, "a", 0), "b", 5000);
    expect(addCharge({ usage: both, quota, requestId: "a", nowMs: 5001, untilMs: 0 })).toEqual({ usage: both });
  });

  it("lasts as a record until nothing in it counts any more", () => {
    const quota = { tasks: 2, perSeconds: 10 };
    const outcome = addCharge({ usage: none, quota, requestId: "a", nowMs: 0, untilMs: 500_000 });
    const usage = "usage" in outcome ? outcome.usage : none;
    expect(usage.expiresAtMs).toBeGreaterThan(500_000);
    const released = releaseCharge({ usage, quota, requestId: "a", nowMs: 5000 });
    expect(released.charges).toEqual([{ id: "a", atMs: 0 }]);
    expect(released.expiresAtMs).toBeLessThan(100_000);
    expect(released.expiresAtMs).toBeGreaterThan(10_000);
  });

  it("stays small enough for one record, however long tasks take", () => {
    const quota = { tasks: 1000, perSeconds: 1 };
    const idOf = (index: number) => `0d1c2b3a-4f5e-5a6b-8c7d-${String(index).padStart(12, "0")}`;
    const untilMs = 8 * 3600_000;
    const charges = Array.from({ length: 5000 }, (_, index) => ({ id: idOf(index), atMs: index * 2, untilMs }));
    const outcome = addCharge({ usage: { ...none, charges }, quota, requestId: idOf(5000), nowMs: 10_999, untilMs });
    const left = "usage" in outcome ? outcome.usage.charges : [];
    // All of the window, and of those before it the latest.
    expect(left.length).toBe(1001);
    expect(left).toEqual(expect.arrayContaining([{ id: idOf(5000), atMs: 10_999, untilMs }, charges[4999]]));
    expect(JSON.stringify(left).length).toBeLessThan(150_000);
  });
});
