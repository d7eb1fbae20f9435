/** Limits many waits to the same time with one timer. A timer for each would be the most expensive part of a short request. */
import { type Reason, SekishoError } from "@sekisho/contracts/errors.ts";

/** Settles as `work` does, or rejects with the limit's reason when the time is over. It rejects with what `toError` makes of either error. */
export type TimeLimit = <T>(work: Promise<T>, toError?: (error: unknown) => unknown) => Promise<T>;

/** The timer keeps no process alive. It fires once after the last wait and is started again by the next. */
export function createTimeLimit({ ms, reason }: { ms: number; reason: Reason }): TimeLimit {
  /** Sorted by due time, because all have the same limit. */
  const waits = new Set<{ dueMs: number; end(): void }>();
  let timer: NodeJS.Timeout | undefined;

  function endDueWaits(): void {
    timer = undefined;
    const nowMs = performance.now();
    for (const wait of waits) {
      if (wait.dueMs > nowMs) {
        startTimer(wait.dueMs - nowMs);
        return;
      }
      waits.delete(wait);
      wait.end();
    }
  }

  function startTimer(afterMs: number): void {
    timer = setTimeout(endDueWaits, Math.ceil(afterMs)).unref();
  }

  return <T>(work: Promise<T>, toError = (error: unknown) => error) =>
    new Promise<T>((resolve, reject) => {
      const wait = {
        dueMs: performance.now() + ms,
        end: () => reject(toError(new SekishoError(reason))),
      };
      waits.add(wait);
      if (timer === undefined) startTimer(ms);
      // Whatever work does after its time is over counts no more.
      work.then(
        (value) => waits.delete(wait) && resolve(value),
        (error) => waits.delete(wait) && reject(toError(error)),
      );
    });
}
