import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { PostedMessage } from "../../../lambdas/verification/slack/slack.ts";
import { type DeliveryAction, planDelivery } from "../../../lambdas/verification/worker/delivery-plan.ts";

const post = (ts: number, part: number): PostedMessage => ({
  ts: `${ts}.0`,
  text: `part ${part}`,
  key: { requestId: "r", part },
});

/** What the thread shows after the actions. */
function perform(found: PostedMessage[], actions: DeliveryAction[]): PostedMessage[] {
  let thread = [...found];
  let clock = 1000;
  for (const action of actions) {
    if (action.type === "remove") thread = thread.filter(({ ts }) => ts !== action.ts);
    if (action.type === "update")
      thread = thread.map((message) =>
        message.ts === action.ts ? post(Number.parseFloat(action.ts), action.part) : message,
      );
    if (action.type === "post") thread.push(post(clock++, action.part));
  }
  return thread;
}

describe("the plan of a delivery", () => {
  it("edits the placeholder into the first part and posts the others", () => {
    expect(planDelivery({ parts: ["a", "b"], found: [post(1, 0)], asNew: false })).toEqual([
      { type: "update", ts: "1.0", part: 1, text: "a" },
      { type: "post", part: 2, text: "b" },
    ]);
  });

  it("posts anew and then removes the placeholder where an edit would notify nobody", () => {
    expect(planDelivery({ parts: ["a"], found: [post(1, 0)], asNew: true })).toEqual([
      { type: "post", part: 1, text: "a" },
      { type: "remove", ts: "1.0" },
    ]);
  });

  it("posts only part 2 again when part 2 is what failed", () => {
    expect(planDelivery({ parts: ["a", "b"], found: [post(1, 1)], asNew: false })).toEqual([
      { type: "post", part: 2, text: "b" },
    ]);
  });

  it("removes the later of two posts of one part", () => {
    expect(planDelivery({ parts: ["a"], found: [post(1, 1), post(2, 1)], asNew: false })).toEqual([
      { type: "remove", ts: "2.0" },
    ]);
  });

  it("leaves every part exactly once whatever an earlier try left behind, and doing it again changes nothing", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        (left, count, asNew) => {
          const found = left.map((part, index) => post(index + 1, part));
          const parts = Array.from({ length: count }, (_, index) => `part ${index + 1}`);
          const thread = perform(found, planDelivery({ parts, found, asNew }));
          expect(thread.map(({ key }) => key?.part).sort()).toEqual(parts.map((_, index) => index + 1));
          expect(planDelivery({ parts, found: thread, asNew })).toEqual([]);
        },
      ),
    );
  });
});
