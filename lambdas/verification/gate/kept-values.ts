/** What is read elsewhere and kept for a while, by key: of several that ask at once, one reads. */
import { abortable } from "../transport/abortable.ts";

/** `keepMs` counts from when the read began. */
export type Reading<T> = { value: T; keepMs: number };

export type KeptValues<T> = {
  /** Rejects as `read` does, which is not kept, or with the signal's reason. `read` is ended when nobody waits for it any more. */
  get(request: { key: string; signal: AbortSignal; read: (signal: AbortSignal) => Promise<Reading<T>> }): Promise<T>;
};

type Entry<T> = Reading<T> & { readAtMs: number };
type Flight<T> = { result: Promise<T>; waiting: number; controller: AbortController };

/** Where a read fails, a value goes on that is younger than `staleMs`. The `maxEntries` that were used last are kept. */
export function createKeptValues<T>({
  now,
  staleMs = 0,
  maxEntries = 1000,
}: {
  now: () => number;
  staleMs?: number;
  maxEntries?: number;
}): KeptValues<T> {
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
      keep(key, { ...reading, readAtMs });
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

  return {
    async get({ key, signal, read }) {
      const entry = entries.get(key);
      const isYounger = (ms: number) => entry !== undefined && now() - entry.readAtMs < ms;
      if (entry !== undefined && isYounger(entry.keepMs)) {
        keep(key, entry);
        return entry.value;
      }
      const flight = flights.get(key) ?? start(key, read);
      flight.waiting += 1;
      try {
        return await abortable({ promise: flight.result, signal });
      } catch (error) {
        if (entry !== undefined && !signal.aborted && isYounger(staleMs)) return entry.value;
        throw error;
      } finally {
        leave(key, flight);
      }
    },
  };
}
