/** How much of a process each destination may hold. */

import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, jest } from "@jest/globals";
import {
  createDestinationSlots,
  createShare,
  createSlots,
  maxShare,
} from "@sekisho/verification/slots.ts";

type Slots = ReturnType<typeof createSlots>;

async function takeSlot(
  slots: Slots,
): Promise<Extract<Awaited<ReturnType<Slots["take"]>>, { release: unknown }>> {
  const slot = await slots.take();
  if ("delayMs" in slot) throw new Error("there was a slot");
  return slot;
}

async function delayOf(slots: Slots): Promise<number> {
  const slot = await slots.take();
  if ("release" in slot) throw new Error("there was no slot");
  return slot.delayMs;
}

describe("slots of one kind", () => {
  it("hands out slots up to the maximum and takes them back", async () => {
    const slots = createSlots({ max: 2, maxWaiting: 0, now: () => 0 });
    const first = await takeSlot(slots);
    expect(slots.isIdle()).toBe(true);
    await takeSlot(slots);
    expect(slots.isIdle()).toBe(false);
    await delayOf(slots);
    first.release();
    await takeSlot(slots);
  });

  it("lets a few callers wait briefly for a slot, in their order, and refuses further ones", async () => {
    const slots = createSlots({ max: 1, maxWaiting: 2, now: Date.now });
    const first = await takeSlot(slots);
    const order: string[] = [];
    const second = takeSlot(slots).finally(() => order.push("second"));
    const third = delayOf(slots).finally(() => order.push("third"));
    await delayOf(slots);
    order.push("fourth");
    first.release();
    await second;
    await third;
    expect(order).toEqual(["fourth", "second", "third"]);
    (await second).release();
    (await takeSlot(slots)).release();
  });

  it("spreads retries at the rate at which slots come free, up to a minute ahead", async () => {
    let nowMs = 0;
    const slots = createSlots({ max: 4, maxWaiting: 0, now: () => nowMs });
    for (let round = 0; round < 50; round++) {
      const heldSlots = await Promise.all([1, 2, 3, 4].map(() => takeSlot(slots)));
      nowMs += 8000;
      for (const { release } of heldSlots) release();
    }
    for (let i = 0; i < 4; i++) await takeSlot(slots);
    const delays = await Promise.all(Array.from({ length: 10_000 }, () => delayOf(slots)));
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    const [first = 0, second = 0] = delays;
    expect(Math.abs(second - first - 2000)).toBeLessThan(50);
    expect(delays.at(-1)).toBe(60_000);
  });

  it("ignores polls that waited for news when it estimates the delay", async () => {
    let nowMs = 0;
    const slots = createSlots({ max: 1, maxWaiting: 0, now: () => nowMs });
    const { release } = await takeSlot(slots);
    nowMs += 3600_000;
    release({ isMeasured: false });
    await takeSlot(slots);
    expect(await delayOf(slots)).toBe(1000);
  });
});

const kinds = ["send", "poll", "transfer"] as const;

/** Takes slots of one kind until there are no more. Returns how many there were. */
async function takeAll(slots: Slots): Promise<number> {
  for (let count = 0; ; count++) {
    const slot = await Promise.race([slots.take(), turn("waits" as const)]);
    if (slot === "waits" || "delayMs" in slot) return count;
  }
}

function slotsFor(request: {
  slots: number;
  destinations: number;
  maxSends?: number;
  transfers?: number;
}) {
  const { slots, maxSends = 1000, transfers = 3 } = request;
  const names = Array.from({ length: request.destinations }, (_, index) => `d${index}`);
  const destinations = new Map(names.map((name) => [name, { maxSends }]));
  return createDestinationSlots({
    destinations,
    slots,
    transfers: createShare({ max: transfers }),
    now: () => 0,
  });
}

describe("the share of a destination", () => {
  it.each([
    [{ slots: 1, destinations: 2 }, 1],
    [{ slots: 2, destinations: 2 }, 1],
    [{ slots: 4, destinations: 2 }, 1],
    [{ slots: 5, destinations: 2 }, 2],
    [{ slots: 10, destinations: 2 }, 4],
    [{ slots: 64, destinations: 9 }, 31],
    [{ slots: 3, destinations: 1 }, 3],
    [{ slots: 4, destinations: 1 }, 3],
    [{ slots: 10, destinations: 1 }, 7],
    [{ slots: 64, destinations: 1 }, 48],
  ])(
    "limits one destination to less than half the slots beside others, and to 3/4 without others: %j",
    (request, share) => {
      expect(maxShare(request)).toBe(share);
    },
  );

  it("bounds sends, polls and transfers together, for every number of slots and in every order", async () => {
    for (const destinations of [1, 2, 5]) {
      for (let slots = 1; slots <= 70; slots++) {
        for (const order of [kinds, [...kinds].reverse(), ["poll", "send", "transfer"] as const]) {
          const own = slotsFor({ slots, destinations })("d0");
          let heldCount = 0;
          // The second round finds what the first one left.
          for (const kind of [...order, ...order]) heldCount += await takeAll(own[kind]);
          expect(heldCount).toBeGreaterThanOrEqual(1);
          expect(heldCount).toBeLessThanOrEqual(maxShare({ slots, destinations }));
        }
      }
    }
  });

  it("leaves a slot for transfers when sends and polls hold all of theirs", async () => {
    const enough = [
      { slots: 3, destinations: 1 },
      { slots: 7, destinations: 2 },
      { slots: 64, destinations: 1 },
      { slots: 64, destinations: 2 },
    ];
    for (const request of enough) {
      for (const order of [["send", "poll"] as const, ["poll", "send"] as const]) {
        const own = slotsFor(request)("d0");
        for (const kind of order) await takeAll(own[kind]);
        await takeSlot(own.transfer);
      }
    }
  });

  it("leaves a slot for polls and for transfers when sends hold all of theirs", async () => {
    for (const slots of [4, 10, 64]) {
      const slotsOf = slotsFor({ slots, destinations: 2 });
      const alone = slotsFor({ slots, destinations: 1 })("d0");
      await takeAll(alone.send);
      await takeSlot(alone.poll);
      await takeSlot(alone.transfer);
      if (slots === 4) continue;
      for (const kind of ["send", "poll"] as const) {
        const own = slotsOf(kind === "send" ? "d0" : "d1");
        await takeAll(own[kind]);
        await takeSlot(own.transfer);
      }
    }
  });

  it("counts polls that wait for a slot, because they hold one of the process meanwhile", async () => {
    // On a slow machine, the first one would otherwise be turned away before the last one has come.
    jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate"] });
    const own = slotsFor({ slots: 64, destinations: 1, maxSends: 32 })("d0");
    const sends = await takeAll(own.send);
    expect(sends).toBe(32);
    let waiting = 0;
    for (let n = 0; n < 40; n++) {
      const slot = await Promise.race([own.poll.take(), turn("waits" as const)]);
      if (slot === "waits") waiting += 1;
    }
    // The 48 slots: 6 are left for transfers, 32 are held by sends, and 8 by polls under way.
    expect(waiting).toBe(2);
    jest.useRealTimers();
  });

  it("leaves slots for replies and cancels", async () => {
    const own = slotsFor({ slots: 4, destinations: 2 })("d0");
    for (const kind of kinds) await takeAll(own[kind]);
    await takeSlot(own.control);
  });

  it("gives a destination its full share even if another destination holds all of its own slots", async () => {
    const slotsOf = slotsFor({ slots: 10, destinations: 2 });
    const counts = [];
    for (const name of ["d0", "d1"]) counts.push(await takeAll(slotsOf(name).send));
    expect(counts).toEqual([2, 2]);
  });

  it("limits sends to the maximum of the destination", async () => {
    expect(await takeAll(slotsFor({ slots: 64, destinations: 1, maxSends: 5 })("d0").send)).toBe(5);
  });

  it("limits a destination's share of the process's transfers, which are fewer than its slots", async () => {
    const both = slotsFor({ slots: 64, destinations: 2, transfers: 3 });
    expect(await takeAll(both("d0").transfer)).toBe(1);
    expect(await takeAll(both("d1").transfer)).toBe(1);
    expect(
      await takeAll(slotsFor({ slots: 64, destinations: 1, transfers: 3 })("d0").transfer),
    ).toBe(3);
    expect(
      await takeAll(slotsFor({ slots: 64, destinations: 1, transfers: 1 })("d0").transfer),
    ).toBe(1);
  });

  it("shares one pool of slots among all destinations that are no longer configured", async () => {
    const slotsOf = slotsFor({ slots: 64, destinations: 1 });
    await takeSlot(slotsOf("gone").transfer);
    await takeSlot(slotsOf("d0").transfer);
  });
});
