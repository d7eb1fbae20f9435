/** The bound on the calls of one destination. */
import { describe, expect, it } from "@jest/globals";
import { createSlots } from "../../../lambdas/verification/worker/calls.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

type Slots = ReturnType<typeof createSlots>;

async function taken(slots: Slots): Promise<{ release: () => void }> {
  const slot = await slots.take();
  if ("delayMs" in slot) throw new Error("there was a slot");
  return slot;
}

async function delayOf(slots: Slots): Promise<number> {
  const slot = await slots.take();
  if ("release" in slot) throw new Error("there was no slot");
  return slot.delayMs;
}

describe("slots of a destination", () => {
  it("are given while there are some, and given back", async () => {
    const slots = createSlots({ max: 2, maxWaiting: 0, now: () => 0 });
    const first = await taken(slots);
    expect(slots.isIdle()).toBe(true);
    await taken(slots);
    expect(slots.isIdle()).toBe(false);
    await delayOf(slots);
    first.release();
    await taken(slots);
  });

  it("are waited for a moment by a few, in their order, and by nobody for longer", async () => {
    const slots = createSlots({ max: 1, maxWaiting: 2, now: Date.now });
    const first = await taken(slots);
    const order: string[] = [];
    const second = taken(slots).finally(() => order.push("second"));
    const third = delayOf(slots).finally(() => order.push("third"));
    await delayOf(slots);
    order.push("fourth");
    first.release();
    await second;
    await third;
    expect(order).toEqual(["fourth", "second", "third"]);
    (await second).release();
    (await taken(slots)).release();
  });

  it("are promised one after the other, as fast as they come free, and within a minute", async () => {
    let nowMs = 0;
    const slots = createSlots({ max: 4, maxWaiting: 0, now: () => nowMs });
    for (let round = 0; round < 50; round++) {
      const held = await Promise.all([1, 2, 3, 4].map(() => taken(slots)));
      nowMs += 8000;
      for (const { release } of held) release();
    }
    for (let i = 0; i < 4; i++) await taken(slots);
    const delays = await Promise.all(Array.from({ length: 10_000 }, () => delayOf(slots)));
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    const [first = 0, second = 0] = delays;
    expect(Math.abs(second - first - 2000)).toBeLessThan(50);
    expect(delays.at(-1)).toBe(60_000);
  });
});

describe("a task that finds no slot", () => {
  it("waits, which is no failure, and stays one that was not sent", async () => {
    const world = createWorld({ maxSends: 0 });
    const ask = sampleAsk();
    world.deliver(ask);
    await world.run({ maxSteps: 10 });
    const record = world.records.get(ask.requestId);
    expect(record).toMatchObject({ state: "sent", attempts: 0, call: { arrival: "none" } });
    expect(world.starts).toEqual([]);
    // Nobody ever had a slot for it: at its deadline it is told.
    await world.run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"unavailable","lost":false}']);
  });
});
