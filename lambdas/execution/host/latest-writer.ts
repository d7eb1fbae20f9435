/** Writes the latest of many values, and at most one in an interval. */
import type { Sleep } from "../../shared/sleep.ts";

/** The first value is written at once; of those that come within the interval, the last one is written when it is over. */
export function createLatestWriter<T>({
  write,
  intervalMs,
  signal,
  sleep,
}: {
  write: (value: T) => Promise<void>;
  intervalMs: number;
  signal: AbortSignal;
  sleep: Sleep;
}): (value: T) => void {
  const waiting: T[] = [];
  let writing = false;

  async function drain(): Promise<void> {
    writing = true;
    for (let value = waiting.pop(); value !== undefined && !signal.aborted; value = waiting.pop()) {
      waiting.length = 0;
      await write(value);
      await sleep({ ms: intervalMs, signal });
    }
    writing = false;
  }

  return (value) => {
    waiting.splice(0, waiting.length, value);
    if (!writing) void drain();
  };
}
