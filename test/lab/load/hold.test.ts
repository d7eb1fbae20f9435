import { describe, expect, it, jest } from "@jest/globals";
import { createHold } from "./children/hold.ts";

const never = new AbortController().signal;

describe("the agents of a load run", () => {
  it("holds agents until one more than the limit has come, then releases the one that waited longest", async () => {
    const hold = createHold({ atOnce: 2, quietMs: 60_000 });
    const gone: number[] = [];
    const come = (number: number, signal = never) =>
      hold.enter({ signal }).then(() => gone.push(number));
    const [first] = [come(1), come(2)];
    await Promise.resolve();
    expect(gone).toEqual([]);
    const third = new AbortController();
    const aborted = come(3, third.signal);
    await first;
    expect(gone).toEqual([1]);
    third.abort();
    await aborted;
    expect(gone).toEqual([1, 3]);
  });

  it("releases all agents when no other one has come for a while", async () => {
    jest.useFakeTimers();
    try {
      const hold = createHold({ atOnce: 100, quietMs: 1000 });
      const all = Promise.all([hold.enter({ signal: never }), hold.enter({ signal: never })]);
      jest.advanceTimersByTime(1500);
      await all;
    } finally {
      jest.useRealTimers();
    }
  });
});
