/** How many calls a destination may have at once in this process, so that one that hangs leaves the others room. */

/** `release` gives the slot back. Without a free one, `delayMs` says when there is likely one for this caller. */
type Taken = { release: () => void } | { delayMs: number };

export type Slots = {
  take(): Promise<Taken>;
  /** Whether less than half of them are taken beside the caller's: then a call may wait at the destination for news. */
  isIdle(): boolean;
};

const firstGuessMs = 1000;
/** What a caller waits here before it is turned away: a call may take only some milliseconds. */
const mostWaitMs = 1000;
const leastDelayMs = 100;
/** The destination may be much faster by then. */
const mostDelayMs = 60_000;
/** How much one call's duration counts in the mean. */
const weight = 0.1;

/**
 * At most `maxWaiting` callers wait for a slot here, in their order. Whoever is turned away is told to come back at a time of
 * its own, one after the other as fast as slots come free by the mean duration of calls: so that ten thousand that wait do
 * not all try again and again.
 */
export function createSlots({ max, maxWaiting, now }: { max: number; maxWaiting: number; now: () => number }): Slots {
  /** In the order in which they came. */
  const waiting = new Set<() => void>();
  let taken = 0;
  let meanMs = firstGuessMs;
  let bookedUntilMs = 0;

  /** Takes a slot that is free. */
  function hold(): Taken {
    const sinceMs = now();
    taken += 1;
    function release(): void {
      taken -= 1;
      meanMs += weight * (now() - sinceMs - meanMs);
      const [next] = waiting;
      next?.();
    }
    return { release };
  }

  function turnAway(): Taken {
    const nowMs = now();
    bookedUntilMs = Math.min(Math.max(bookedUntilMs, nowMs) + meanMs / max, nowMs + mostDelayMs);
    return { delayMs: Math.ceil(Math.max(bookedUntilMs - nowMs, leastDelayMs)) };
  }

  function wait(): Promise<Taken> {
    const { promise, resolve } = Promise.withResolvers<Taken>();
    const timer = setTimeout(() => settle(turnAway), mostWaitMs);
    function settle(outcome: () => Taken): void {
      clearTimeout(timer);
      waiting.delete(goOn);
      resolve(outcome());
    }
    function goOn(): void {
      settle(hold);
    }
    waiting.add(goOn);
    return promise;
  }

  return {
    async take() {
      if (taken < max) return hold();
      return waiting.size < maxWaiting ? wait() : turnAway();
    },
    isIdle: () => (taken - 1) * 2 < max,
  };
}
