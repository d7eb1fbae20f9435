/** An invocation leaves itself time to write down how far its acts came, before Lambda ends the function. */
import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { endingSignal } from "../../../lambdas/verification/worker/batch.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A function that may run for so long, from now on. */
function invocation(ms: number) {
  const endsAtMs = Date.now() + ms;
  const context = { getRemainingTimeInMillis: () => endsAtMs - Date.now() };
  return { context, ...endingSignal({ context }) };
}

it("aborts while there are still seconds left to save the record and to send the next wake-up", () => {
  const { context, signal } = invocation(75_000);
  const leftMs: number[] = [];
  signal.addEventListener("abort", () => leftMs.push(context.getRemainingTimeInMillis()));
  jest.advanceTimersByTime(60_000);
  expect(signal.aborted).toBe(false);
  jest.advanceTimersByTime(15_000);
  expect(leftMs).toEqual([5000]);
});

it("aborts at once where there is less time than that, and lets go of its timer where the invocation ended earlier", () => {
  const short = invocation(3000);
  jest.advanceTimersByTime(0);
  expect(short.signal.aborted).toBe(true);
  const { signal, end } = invocation(75_000);
  end();
  expect(jest.getTimerCount()).toBe(0);
  jest.advanceTimersByTime(75_000);
  expect(signal.aborted).toBe(false);
});
