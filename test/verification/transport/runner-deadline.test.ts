/** A call that nobody answers ends: after its own time, and never later than the destination's calls may take. */
import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { clientOver, execute } from "./sample.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A peer that takes the request and never answers; what the transport is told meanwhile. */
function silentPeer() {
  const signals: AbortSignal[] = [];
  const client = clientOver(
    ({ signal }) =>
      new Promise((_resolve, reject) => {
        signals.push(signal);
        signal.addEventListener("abort", () => reject(new Error("given up")));
      }),
    // It does not deduplicate: nothing is repeated.
    { idempotent: false, now: Date.now },
  );
  return { client, isGivenUp: () => signals.map(({ aborted }) => aborted) };
}

it.each([
  ["its own time", { timeoutMs: 12_000 }, 12_000],
  ["the time of a call to the destination, where its own is longer", { timeoutMs: 8 * 3600_000 }, 30_000],
])("is given up after %s", async (_name, given, afterMs) => {
  const { client, isGivenUp } = silentPeer();
  const call = expect(execute(client, given)).rejects.toThrow();
  await jest.advanceTimersByTimeAsync(afterMs - 1);
  expect(isGivenUp()).toEqual([false]);
  await jest.advanceTimersByTimeAsync(1);
  expect(isGivenUp()).toEqual([true]);
  await call;
});

it("keeps no timer when it has been answered or its caller has given up", async () => {
  const { client, isGivenUp } = silentPeer();
  const caller = new AbortController();
  const call = expect(execute(client, { signal: caller.signal })).rejects.toThrow();
  await jest.advanceTimersByTimeAsync(1000);
  caller.abort();
  await call;
  expect(isGivenUp()).toEqual([true]);
  expect(jest.getTimerCount()).toBe(0);
});
