/** Records since when agents are at work in this process, or no longer. A platform reads it to decide if the process is idle. */

/** `sinceMs`: when `isBusy` changed last, in milliseconds since the epoch; of an idle process that never was busy, when it was first read. */
export type Activity = { isBusy: boolean; sinceMs: number };

export type ActivityRecord = {
  /** Notes that agents are at work, or no longer. */
  set(isBusy: boolean): void;
  read(): Activity;
};

/**
 * Reads the clock at the first use and not before, because a platform may restore many processes from one snapshot. `sinceMs` stays the
 * same from one change to the next, and is never later than `now()`: a clock that was set back sets it once.
 */
export function createActivityRecord({ now }: { now: () => number }): ActivityRecord {
  let isBusy = false;
  let sinceMs: number | undefined;
  return {
    set(isBusyNow) {
      if (isBusyNow === isBusy) return;
      isBusy = isBusyNow;
      sinceMs = now();
    },
    read() {
      const nowMs = now();
      sinceMs = Math.min(sinceMs ?? nowMs, nowMs);
      return { isBusy, sinceMs };
    },
  };
}
