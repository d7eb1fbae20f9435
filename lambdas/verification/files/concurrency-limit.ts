/** Limits how many files are held in memory at once. Later ones wait. */
import { abortable } from "../../shared/async/waiting.ts";

export type ConcurrencyLimit = {
  /** Rejects as `work` does, or with the signal's reason where that aborts before its turn. */
  take<T>(request: { signal: AbortSignal; work: () => Promise<T> }): Promise<T>;
};

export function createConcurrencyLimit({ max }: { max: number }): ConcurrencyLimit {
  const waiting: (() => void)[] = [];
  let taken = 0;

  /** A place that comes free goes straight to the next one. */
  function release(): void {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
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
      if (taken < max) taken += 1;
      else await wait(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
