/** The request ids of an operator's retries. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { requestIdOf, retryIdOf } from "../../../lambdas/verification/task/routing.ts";

const retry = fc.record({ originalId: fc.uuid(), count: fc.integer({ min: 1, max: 100 }) });

describe("the request id of a retry", () => {
  it("is what the contract takes as an id, and the same each time", () => {
    fc.assert(
      fc.property(retry, (one) => {
        expect(retryIdOf(one)).toMatch(uuidPattern);
        expect(retryIdOf({ ...one })).toBe(retryIdOf(one));
      }),
    );
  });

  it("differs for another task and another count, and is the id of no post", () => {
    fc.assert(
      fc.property(retry, retry, (one, other) => {
        const same = one.originalId === other.originalId && one.count === other.count;
        expect(retryIdOf(one) === retryIdOf(other)).toBe(same);
      }),
    );
    const post = requestIdOf({ appId: "A1", channel: "C1", ts: "1762750000.000100" });
    const retries = [1, 2, 3].map((count) => retryIdOf({ originalId: post, count }));
    expect(new Set([post, ...retries]).size).toBe(4);
  });

  it("never changes, or a retry that was asked for before an upgrade would run again", () => {
    expect(retryIdOf({ originalId: "b712cf0d-e876-58d0-ab39-23ec5761e80e", count: 1 })).toBe(
      "91902192-4c86-5334-af59-e82b262b5d40",
    );
  });
});
