/** The bound on the calls of one destination. */
import { describe, expect, it } from "@jest/globals";
import { createSlots } from "../../../lambdas/verification/worker/slots.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

describe("calls of one destination", () => {
  it("get a slot while there is one, and give it back", () => {
    const slots = createSlots({ max: 2 });
    const first = slots.take();
    expect(slots.isIdle()).toBe(true);
    const second = slots.take();
    expect([slots.take(), slots.isIdle()]).toEqual([undefined, false]);
    first?.();
    expect(slots.take()).toBeDefined();
    second?.();
  });

  it("wait for one without counting as failures, and the task stays one that was not sent", async () => {
    const world = createWorld({ maxCalls: 0 });
    const ask = sampleAsk();
    world.deliver(ask);
    await world.run({ maxSteps: 40 });
    const record = world.records.get(ask.requestId);
    expect(record).toMatchObject({ state: "announced", attempts: 0, mayHaveArrived: false });
    expect(world.starts).toEqual([]);
    // Nobody ever had a slot for it: at its deadline it is told.
    await world.run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"timeout","lost":false}']);
  });
});
