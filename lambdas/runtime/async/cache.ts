/** Caches loaded values: with expiry, one load at a time, and the last good value if a load fails. */
import { abortable } from "./waiting.ts";

/** Ages count from the start of the load, by this machine's clock, and include the time in which the process was frozen. */
export type Loaded<T> = {
  value: T;
  /** Up to this age the value is returned without a load. At 0 and without `staleMs` it is not cached: only the waiting callers get it. */
  keepMs: number;
  /** From this age on, one caller loads it again, while the others get the cached one at once. */
  refreshAfterMs?: number | undefined;
  /** Up to this age it is used if a load fails (stale-if-error, RFC 5861, section 4), if that is longer than `keepMs`. */
  staleMs?: number | undefined;
};

export type CachedValue<T> = {
  /**
   * Returns at once if the cached value is good. Otherwise all callers share one load, and get its failure if no stale value can be
   * used. `refreshAfterMs` applies to this call, if it is less than the value's own.
   */
  get(request?: { refreshAfterMs?: number | undefined }): T | Promise<T>;
  /** The good cached value, if there is one. */
  peek(): { value: T } | undefined;
  /** Loads again or joins the load under way, and rejects as it does. Does nothing within `minIntervalMs` of the last load. */
  reload(request: { minIntervalMs: number }): Promise<void>;
  /** Replaces the cached value by one that the caller loaded. */
  set(value: Loaded<T>): void;
  /** Drops the cached value if it is the refused one. */
  forget(isRefused: (value: T) => boolean): void;
  /** Forgets the load under way, because no caller waits for it any more. The next caller starts another one. */
  abandonLoad(): void;
};

/**
 * The time since `sinceMs`. If the clock was set back, it counts as longer than any limit. Otherwise, an expired value or a pause
 * would last until the clock has caught up.
 */
export function elapsedMs(sinceMs: number, nowMs: number): number {
  return nowMs < sinceMs ? Number.MAX_VALUE : nowMs - sinceMs;
}

/**
 * Uses no timers, because a frozen process has none. After a failed refresh, the next one begins `retryAfterMs` after the start of
 * the failed one. `load` gets the last value, however old it is.
 */
export function createCachedValue<T>({
  load,
  now,
  retryAfterMs = 0,
}: {
  load: (last: T | undefined) => Promise<Loaded<T>>;
  now: () => number;
  retryAfterMs?: number;
}): CachedValue<T> {
  let cachedEntry: Loaded<T> | undefined;
  let cachedAtMs = 0;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<T> | undefined;
  /** Loads and calls of `set` are numbered in the order in which they begin. */
  let lastNumber = 0;
  let cachedNumber = 0;

  const isYounger = (ageMs: number) => elapsedMs(cachedAtMs, now()) < ageMs;
  const isPast = (pauseMs: number) => elapsedMs(startedAtMs, now()) >= pauseMs;
  const peek = () => (cachedEntry && isYounger(cachedEntry.keepMs) ? cachedEntry : undefined);

  /** A load that was overtaken replaces nothing, because it may have read the value that was refused in the meantime. */
  function store(newEntry: Loaded<T>, atMs: number, number: number): void {
    if ((!newEntry.keepMs && !newEntry.staleMs) || number < cachedNumber) return;
    cachedEntry = newEntry;
    cachedAtMs = atMs;
    cachedNumber = number;
  }

  async function loadOnce(): Promise<T> {
    const atMs = now();
    const number = ++lastNumber;
    startedAtMs = atMs;
    const newEntry = await load(cachedEntry?.value);
    store(newEntry, atMs, number);
    return newEntry.value;
  }

  function share(): Promise<T> {
    const own =
      loading ??
      loadOnce().finally(() => {
        if (loading === own) loading = undefined;
      });
    loading = own;
    return own;
  }

  async function loadOrStale(): Promise<T> {
    try {
      return await share();
    } catch (error) {
      if (cachedEntry && isYounger(Math.max(cachedEntry.keepMs, cachedEntry.staleMs ?? 0)))
        return cachedEntry.value;
      throw error;
    }
  }

  return {
    peek,
    get({ refreshAfterMs } = {}) {
      const good = peek();
      if (!good) return loadOrStale();
      const isDue = [refreshAfterMs, good.refreshAfterMs].some(
        (ageMs) => ageMs !== undefined && !isYounger(ageMs),
      );
      const hasFailed = startedAtMs !== cachedAtMs;
      const mayTry = !loading && (!hasFailed || isPast(retryAfterMs));
      return isDue && mayTry ? loadOrStale() : good.value;
    },
    async reload({ minIntervalMs }) {
      if (loading || isPast(minIntervalMs)) await share();
    },
    set(newEntry) {
      store(newEntry, now(), ++lastNumber);
    },
    forget(isRefused) {
      if (cachedEntry && isRefused(cachedEntry.value)) cachedEntry = undefined;
    },
    abandonLoad() {
      loading = undefined;
    },
  };
}

/**
 * Pauses after a failure, so that the source is not called too often: for `pauseMs` after the end of the failed load, further loads
 * fail at once with the same error.
 */
export function pauseAfterFailure<T>({
  load,
  now,
  pauseMs,
}: {
  load: () => Promise<T>;
  now: () => number;
  pauseMs: () => number;
}): () => Promise<T> {
  let failure: { error: unknown; atMs: number; forMs: number } | undefined;
  return async () => {
    if (failure !== undefined && elapsedMs(failure.atMs, now()) < failure.forMs)
      throw failure.error;
    try {
      return await load();
    } catch (error) {
      failure = { error, atMs: now(), forMs: pauseMs() };
      throw error;
    }
  };
}

export type CachedValues<T> = {
  /**
   * Rejects as `read` does, or with the signal's reason. If one caller aborts, the load continues for the others. `read` is aborted
   * when nobody waits for it any more. A caller that refreshes a good value gets the cached one if the load fails or takes longer
   * than `refreshWaitMs`. Then nobody tries again for a minute.
   */
  get(request: {
    key: string;
    signal: AbortSignal;
    read: (signal: AbortSignal) => Promise<Loaded<T>>;
    refreshAfterMs?: number;
  }): Promise<T>;
};

export type RecentEntries<E> = {
  /** Returns the key's entry, which is created if there is none. It is now the one that was used last. */
  use(key: string, create: () => E): E;
  /** Does nothing if another entry has the key now. */
  drop(key: string, entry: E): void;
};

/** Keeps entries by key. Beyond `maxEntries`, it drops the least recently used one. */
export function createRecentEntries<E>({ maxEntries }: { maxEntries: number }): RecentEntries<E> {
  const entries = new Map<string, E>();
  return {
    use(key, create) {
      const entry = entries.get(key) ?? create();
      entries.delete(key);
      entries.set(key, entry);
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
      return entry;
    },
    drop(key, entry) {
      if (entries.get(key) === entry) entries.delete(key);
    },
  };
}

/** The pause after a failed refresh, so that a service with a rate limit is not called too often. */
const refreshPauseMs = 60_000;

type Entry<T> = {
  value: CachedValue<T>;
  isLoaded: boolean;
  read: (signal: AbortSignal) => Promise<Loaded<T>>;
  waiting: number;
  controller: AbortController;
};

/** One cached value per key. If a load fails, a value younger than `staleMs` is used. Keeps the `maxEntries` that were used last. */
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
  const entries = createRecentEntries<Entry<T>>({ maxEntries });

  function createEntry(readValue: Entry<T>["read"]): Entry<T> {
    const load = async () => {
      entry.controller = new AbortController();
      const { signal } = entry.controller;
      const loadedValue = await abortable({ promise: entry.read(signal), signal });
      entry.isLoaded = true;
      return { staleMs, ...loadedValue };
    };
    const value = createCachedValue<T>({ load, now, retryAfterMs: refreshPauseMs });
    const entry: Entry<T> = {
      value,
      isLoaded: false,
      read: readValue,
      waiting: 0,
      controller: new AbortController(),
    };
    return entry;
  }

  function leave(key: string, entry: Entry<T>): void {
    entry.waiting -= 1;
    if (entry.waiting > 0) return;
    entry.value.abandonLoad();
    entry.controller.abort();
    if (!entry.isLoaded) entries.drop(key, entry);
  }

  return {
    async get({ key, signal, read, refreshAfterMs }) {
      const entry = entries.use(key, () => createEntry(read));
      entry.read = read;
      const value = entry.value.get({ refreshAfterMs });
      if (!(value instanceof Promise)) return value;
      const good = entry.value.peek();
      const waiting =
        good === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(refreshWaitMs)]);
      entry.waiting += 1;
      try {
        return await abortable({ promise: value, signal: waiting });
      } catch (error) {
        signal.throwIfAborted();
        if (good === undefined) throw error;
        return good.value;
      } finally {
        leave(key, entry);
      }
    },
  };
}
