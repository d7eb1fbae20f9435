/** Limits how many pieces of work run at once. Later ones wait in order. */
import { abortable } from "@sekisho/runtime/async/waiting.ts";

export type ConcurrencyLimit = {
  /** Rejects with the error of `work`, or with the signal's reason if it aborts before the work starts. */
  take<T>(request: { signal: AbortSignal; work: () => Promise<T> }): Promise<T>;
};

export function createConcurrencyLimit({ max }: { max: number }): ConcurrencyLimit {
  const waiting: (() => void)[] = [];
  let running = 0;

  /** Hands the free slot to the first waiter, so that a new caller cannot overtake it. */
  function release(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  async function wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    try {
      await abortable({ promise, signal });
    } catch (reason) {
      const index = waiting.indexOf(resolve);
      if (index >= 0) waiting.splice(index, 1);
      else release();
      throw reason;
    }
  }

  return {
    async take({ signal, work }) {
      signal.throwIfAborted();
      if (running < max) running += 1;
      else await wait(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
