import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";

const never = new Promise<never>(() => {});

describe("a time limit", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** What became of some work so far: how it ended, or "waits". */
  function watch(work: Promise<unknown>): () => unknown {
    let outcome: unknown = "waits";
    work.then(
      (value) => (outcome = value),
      ({ reason, message }) => (outcome = reason ?? message),
    );
    return () => outcome;
  }

  it("settles as the work does if that ends in time", async () => {
    const within = createTimeLimit({ ms: 1000, reason: "timeout" });
    await expect(within(Promise.resolve("done"))).resolves.toBe("done");
    await expect(within(Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  it("gives each of several waits its own full time", async () => {
    const within = createTimeLimit({ ms: 1000, reason: "unavailable" });
    const first = watch(within(never));
    await jest.advanceTimersByTimeAsync(600);
    const second = watch(within(never));
    await jest.advanceTimersByTimeAsync(399);
    expect([first(), second()]).toEqual(["waits", "waits"]);
    await jest.advanceTimersByTimeAsync(1);
    expect([first(), second()]).toEqual(["unavailable", "waits"]);
    await jest.advanceTimersByTimeAsync(599);
    expect(second()).toBe("waits");
    await jest.advanceTimersByTimeAsync(1);
    expect(second()).toBe("unavailable");
  });

  it("limits a wait that begins after the timer has run out", async () => {
    const within = createTimeLimit({ ms: 1000, reason: "timeout" });
    await within(Promise.resolve());
    await jest.advanceTimersByTimeAsync(5000);
    expect(jest.getTimerCount()).toBe(0);
    const late = watch(within(never));
    await jest.advanceTimersByTimeAsync(999);
    expect(late()).toBe("waits");
    await jest.advanceTimersByTimeAsync(1);
    expect(late()).toBe("timeout");
  });

  it("uses one timer for any number of waits", async () => {
    const within = createTimeLimit({ ms: 1000, reason: "timeout" });
    const waits = Array.from({ length: 50 }, () => watch(within(never)));
    expect(jest.getTimerCount()).toBe(1);
    await jest.advanceTimersByTimeAsync(1000);
    expect(waits.every((readOutcome) => readOutcome() === "timeout")).toBe(true);
  });
});
