/** How many calls a destination may have at once in this process, so that one that hangs leaves the others room. */

/** `release` gives the slot back. Without a free one, `delayMs` says when there is likely one for this caller. */
type Taken = { release: () => void } | { delayMs: number };

export type Slots = {
  take(): Taken;
  /** Whether at most half of them are taken: then a call may wait at the destination for news. */
  isIdle(): boolean;
};

const firstGuessMs = 1000;
const leastDelayMs = 100;
/** The destination may be much faster by then. */
const mostDelayMs = 60_000;
/** How much one call's duration counts in the mean. */
const weight = 0.1;

/**
 * Whoever is turned away is told to come back at a time of its own, one after the other as fast as slots come free by the
 * mean duration of calls: so that ten thousand that wait do not all try again and again.
 */
export function createSlots({ max, now }: { max: number; now: () => number }): Slots {
  let taken = 0;
  let meanMs = firstGuessMs;
  let bookedUntilMs = 0;

  return {
    take() {
      const nowMs = now();
      if (taken >= max) {
        bookedUntilMs = Math.max(bookedUntilMs, nowMs) + meanMs / max;
        return { delayMs: Math.ceil(Math.min(Math.max(bookedUntilMs - nowMs, leastDelayMs), mostDelayMs)) };
      }
      taken += 1;
      const release = () => {
        taken -= 1;
        meanMs += weight * (now() - nowMs - meanMs);
      };
      return { release };
    },
    isIdle: () => taken * 2 <= max,
  };
}
