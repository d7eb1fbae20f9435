import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { createLatestWriter } from "@sekisho/execution/runs/latest-writer.ts";

describe("a writer of the latest value", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it("writes the first value at once, and the last value of an interval at its end", async () => {
    const writtenValues: number[] = [];
    const writer = createLatestWriter<number>({
      write: async (value) => void writtenValues.push(value),
      intervalMs: 1000,
    });
    for (const value of [1, 2, 3]) writer.put(value);
    expect(writtenValues).toEqual([1]);
    await jest.advanceTimersByTimeAsync(1000);
    expect(writtenValues).toEqual([1, 3]);
    await jest.advanceTimersByTimeAsync(1000);
    writer.put(4);
    expect(writtenValues).toEqual([1, 3, 4]);
  });

  it("keeps no timer after it was closed during a write", async () => {
    const write = Promise.withResolvers<void>();
    const writer = createLatestWriter<number>({ write: () => write.promise, intervalMs: 1000 });
    writer.put(1);
    writer.close();
    write.resolve();
    await jest.advanceTimersByTimeAsync(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});
