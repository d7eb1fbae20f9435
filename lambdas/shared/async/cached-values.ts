/** What is read elsewhere and kept for a while, by key: of several that ask at once, one reads. */
import { abortable } from "../../shared/async/abortable.ts";

/** `keepMs` counts from when the read began. */
export type Reading<T> = { value: T; keepMs: number };

export type CachedValues<T> = {
  /**
   * Rejects as `read` does, which is not kept, or with the signal's reason. `read` is ended when nobody waits for it any more.
   * `refreshAfterMs`: a kept value that is older is read anew, by one caller in that time. Other callers get the kept value, and so does
   * that one where the read fails or takes longer than `refreshWaitMs`. After a failure nobody tries again for a minute.
   */
  get(request: {
    key: string;
    signal: AbortSignal;
    read: (signal: AbortSignal) => Promise<Reading<T>>;
    refreshAfterMs?: number;
  }): Promise<T>;
};

/** After a failed refresh, so that a service that limits its callers is left alone. */
const refreshPauseMs = 60_000;

/** `refreshNotBeforeMs`: a refresh was begun or failed, and the next one waits until then. */
type Entry<T> = Reading<T> & { readAtMs: number; refreshNotBeforeMs: number };
type Flight<T> = { result: Promise<T>; waiting: number; controller: AbortController };

/** Where a read fails, a value goes on that is younger than `staleMs`. The `maxEntries` that were used last are kept. */
export function createCachedValues<T>({
  now,
  staleMs = 0,
  refreshWaitMs = 2000,
  maxEntries = 1000,
}: {
  now: () => number;
  staleMs?: number;
  refreshWaitMs?: number;
  maxEntries?: number;
}): CachedValues<T> {
  const entries = new Map<string, Entry<T>>();
  const flights = new Map<string, Flight<T>>();

  function keep(key: string, entry: Entry<T>): void {
    entries.delete(key);
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
  }

  function start(key: string, read: (signal: AbortSignal) => Promise<Reading<T>>): Flight<T> {
    const controller = new AbortController();
    const readAtMs = now();
    const result = read(controller.signal).then((reading) => {
      keep(key, { ...reading, readAtMs, refreshNotBeforeMs: 0 });
      return reading.value;
    });
    const flight = { result, waiting: 0, controller };
    flights.set(key, flight);
    return flight;
  }

  function leave(key: string, flight: Flight<T>): void {
    flight.waiting -= 1;
    if (flight.waiting > 0) return;
    if (flights.get(key) === flight) flights.delete(key);
    flight.controller.abort();
  }

  async function readOnce(
    key: string,
    { signal, read }: { signal: AbortSignal; read: (signal: AbortSignal) => Promise<Reading<T>> },
  ): Promise<T> {
    const flight = flights.get(key) ?? start(key, read);
    flight.waiting += 1;
    try {
      return await abortable({ promise: flight.result, signal });
    } finally {
      leave(key, flight);
    }
  }

  async function refresh(
    entry: Entry<T>,
    { key, signal, read, refreshAfterMs }: Parameters<CachedValues<T>["get"]>[0] & { refreshAfterMs: number },
  ): Promise<T> {
    entry.refreshNotBeforeMs = now() + refreshAfterMs;
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(refreshWaitMs)]);
    try {
      return await readOnce(key, { signal: waiting, read });
    } catch {
      signal.throwIfAborted();
      entry.refreshNotBeforeMs = now() + refreshPauseMs;
      return entry.value;
    }
  }

  return {
    async get({ key, signal, read, refreshAfterMs = Number.POSITIVE_INFINITY }) {
      const entry = entries.get(key);
      const isYounger = (ms: number) => entry !== undefined && now() - entry.readAtMs < ms;
      if (entry !== undefined && isYounger(entry.keepMs)) {
        keep(key, entry);
        const isFresh = isYounger(refreshAfterMs) || now() < entry.refreshNotBeforeMs;
        return isFresh ? entry.value : refresh(entry, { key, signal, read, refreshAfterMs });
      }
      try {
        return await readOnce(key, { signal, read });
      } catch (error) {
        if (entry !== undefined && !signal.aborted && isYounger(staleMs)) return entry.value;
        throw error;
      }
    },
  };
}
