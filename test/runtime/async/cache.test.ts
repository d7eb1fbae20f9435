/** Values that are loaded elsewhere and kept for a while. */
import { beforeEach, describe, expect, it } from "@jest/globals";
import {
  type CachedValues,
  createCachedValue,
  createCachedValues,
  type Loaded,
  pauseAfterFailure,
} from "@sekisho/runtime/async/cache.ts";

/** A clock and a source that the test moves. */
function cachedFrom(
  { keepMs = 1000, ...loadedFields }: Partial<Loaded<string>> = {},
  retryAfterMs = 0,
) {
  const world = {
    nowMs: 1_000_000,
    loads: 0,
    source: async (): Promise<string> => `v${world.loads}`,
  };
  const load = async () => {
    world.loads += 1;
    return { value: await world.source(), keepMs, ...loadedFields };
  };
  return { world, cached: createCachedValue({ load, now: () => world.nowMs, retryAfterMs }) };
}

const away = () => Promise.reject(new Error("away"));

describe("a cached value", () => {
  it("loads a value once for concurrent callers, and again when it has expired", async () => {
    const { world, cached: cachedValue } = cachedFrom();
    expect(cachedValue.peek()).toBeUndefined();
    expect(await Promise.all([cachedValue.get(), cachedValue.get(), cachedValue.get()])).toEqual([
      "v1",
      "v1",
      "v1",
    ]);
    world.nowMs += 999;
    expect(cachedValue.get()).toBe("v1");
    expect(cachedValue.peek()).toMatchObject({ value: "v1" });
    world.nowMs += 1;
    expect(cachedValue.peek()).toBeUndefined();
    expect(await cachedValue.get()).toBe("v2");
  });

  it("returns a stale value for a limited time when a load fails", async () => {
    const { world, cached } = cachedFrom({ staleMs: 5000 });
    await cached.get();
    world.source = away;
    world.nowMs += 4999;
    expect(await cached.get()).toBe("v1");
    world.nowMs += 1;
    await expect(cached.get()).rejects.toThrow("away");
  });

  it("does not cache the error of a load", async () => {
    const { world, cached } = cachedFrom();
    const { source } = world;
    world.source = away;
    await expect(Promise.all([cached.get(), cached.get()])).rejects.toThrow("away");
    world.source = source;
    expect(await cached.get()).toBe("v2");
  });

  it("gives a value that must not be cached to those who already wait, and to nobody else", async () => {
    const none = cachedFrom({ keepMs: 0 });
    expect(await Promise.all([none.cached.get(), none.cached.get()])).toEqual(["v1", "v1"]);
    expect(await none.cached.get()).toBe("v2");
  });

  it("lets one caller refresh a value, and pauses after a failed refresh", async () => {
    const { world, cached } = cachedFrom({ keepMs: 100_000, refreshAfterMs: 1000 }, 10_000);
    await cached.get();
    world.source = away;
    world.nowMs += 1000;
    const refreshing = cached.get();
    expect(cached.get()).toBe("v1");
    expect(await refreshing).toBe("v1");
    world.nowMs += 9999;
    expect(cached.get()).toBe("v1");
    world.nowMs += 1;
    await cached.get();
    expect(world.loads).toBe(3);
  });

  it("reloads a value at most once per interval", async () => {
    const { world, cached } = cachedFrom();
    await cached.get();
    for (let round = 0; round < 5; round += 1) await cached.reload({ minIntervalMs: 500 });
    expect(world.loads).toBe(1);
    world.nowMs += 500;
    await Promise.all([
      cached.reload({ minIntervalMs: 500 }),
      cached.reload({ minIntervalMs: 500 }),
    ]);
    expect([world.loads, cached.get()]).toEqual([2, "v2"]);
    world.source = away;
    await expect(cached.reload({ minIntervalMs: 0 })).rejects.toThrow("away");
    expect(cached.get()).toBe("v2");
  });

  it("returns a stale value for a limited time even if each caller must load it anew", async () => {
    const { world, cached } = cachedFrom({ keepMs: 0, staleMs: 5000 });
    expect([await cached.get(), await cached.get()]).toEqual(["v1", "v2"]);
    world.source = away;
    expect(await cached.get()).toBe("v2");
  });

  it("passes the previous value to the next load, however old it is", async () => {
    const values: (string | undefined)[] = [];
    let nowMs = 0;
    const load = async (last: string | undefined) => {
      values.push(last);
      return { value: `v${values.length}`, keepMs: 1000 };
    };
    const value = createCachedValue({ load, now: () => nowMs });
    await value.get();
    nowMs += 1_000_000;
    await value.get();
    expect(values).toEqual([undefined, "v1"]);
  });

  it("replaces the value by one that a caller sets, with a lifetime of its own", async () => {
    const { world, cached } = cachedFrom();
    await cached.get();
    world.nowMs += 900;
    cached.set({ value: "given", keepMs: 500 });
    world.nowMs += 499;
    expect(cached.get()).toBe("given");
    world.nowMs += 1;
    expect(await cached.get()).toBe("v2");
  });

  it("forgets a value only if it is the refused one", async () => {
    const { cached } = cachedFrom();
    await cached.get();
    cached.forget((value) => value === "another");
    expect(cached.get()).toBe("v1");
    cached.forget((value) => value === "v1");
    expect(await cached.get()).toBe("v2");
  });
});

describe("a clock that is set back", () => {
  it("does not extend the life of a value, or return it as stale, after the clock was set back", async () => {
    const { world, cached } = cachedFrom({ staleMs: 5000 });
    await cached.get();
    world.nowMs -= 86_400_000;
    expect(cached.peek()).toBeUndefined();
    expect(await cached.get()).toBe("v2");
    world.nowMs -= 1;
    world.source = away;
    await expect(cached.get()).rejects.toThrow("away");
  });

  it("keeps a value that never expires after the clock was set back", async () => {
    const { world, cached } = cachedFrom({ keepMs: Number.POSITIVE_INFINITY });
    await cached.get();
    world.nowMs -= 86_400_000;
    expect(cached.get()).toBe("v1");
  });

  it("does not extend the pause between loads, or after a failure, after the clock was set back", async () => {
    const { world, cached } = cachedFrom();
    await cached.get();
    world.nowMs -= 86_400_000;
    await cached.reload({ minIntervalMs: 30_000 });
    expect(world.loads).toBe(2);

    let nowMs = 1_000_000;
    let isAway = true;
    const load = async () => (isAway ? away() : "here");
    const pausedLoad = pauseAfterFailure({ load, now: () => nowMs, pauseMs: () => 2000 });
    await expect(pausedLoad()).rejects.toThrow("away");
    isAway = false;
    nowMs -= 86_400_000;
    expect(await pausedLoad()).toBe("here");
  });
});

describe("a load that was overtaken", () => {
  it("does not replace a value that a caller set during the load", async () => {
    const { world, cached } = cachedFrom();
    const { promise, resolve } = Promise.withResolvers<string>();
    world.source = () => promise;
    const waiting = cached.get();
    cached.set({ value: "newer", keepMs: 1000 });
    resolve("refused");
    await waiting;
    expect(cached.get()).toBe("newer");
  });

  it("does not replace the value of a newer load after the older one was abandoned", async () => {
    const { world, cached } = cachedFrom();
    const { source } = world;
    const { promise, resolve } = Promise.withResolvers<string>();
    world.source = () => promise;
    const waiting = cached.get();
    cached.abandonLoad();
    world.source = source;
    expect(await cached.get()).toBe("v2");
    resolve("older");
    expect(await waiting).toBe("older");
    expect(cached.get()).toBe("v2");
  });
});

describe("a load that pauses after a failure", () => {
  it("fails with the same error until the pause is over, counted from the end of the failed load", async () => {
    const world = { nowMs: 0, loads: 0, isAway: true };
    const load = pauseAfterFailure({
      now: () => world.nowMs,
      pauseMs: () => 2000,
      async load() {
        world.loads += 1;
        world.nowMs += 5000;
        if (world.isAway) throw new Error(`away ${world.loads}`);
        return world.loads;
      },
    });
    await expect(load()).rejects.toThrow("away 1");
    world.isAway = false;
    world.nowMs = 6999;
    await expect(load()).rejects.toThrow("away 1");
    world.nowMs = 7000;
    expect([await load(), await load()]).toEqual([2, 3]);
  });
});

describe("a cached value by key", () => {
  let nowMs = 0;
  let reads: {
    key: string;
    signal: AbortSignal;
    tell: (value: string) => void;
    fail: (error: Error) => void;
  }[] = [];
  let cache: CachedValues<string>;
  beforeEach(() => {
    nowMs = 1_000_000;
    reads = [];
    cache = createCachedValues({
      now: () => nowMs,
      staleMs: 5000,
      refreshWaitMs: 5,
      maxEntries: 2,
    });
  });

  const get = (key: string, signal = new AbortController().signal, refreshAfterMs = 1000) =>
    cache.get({
      key,
      signal,
      refreshAfterMs,
      read(reading) {
        const { promise, resolve, reject } = Promise.withResolvers<{
          value: string;
          keepMs: number;
        }>();
        const tell = (value: string) => resolve({ value, keepMs: 1000 });
        reads.push({ key, signal: reading, tell, fail: reject });
        return promise;
      },
    });

  const options = { signal: new AbortController().signal };

  async function cachedValue(key: string, value: string): Promise<void> {
    const pending = get(key);
    reads.at(-1)?.tell(value);
    expect(await pending).toBe(value);
  }

  it("reads a key once for concurrent callers, and again when its time is over", async () => {
    const pending = [get("a"), get("a"), get("b")];
    expect(reads.map(({ key }) => key)).toEqual(["a", "b"]);
    for (const { key, tell } of reads) tell(`of ${key}`);
    expect(await Promise.all(pending)).toEqual(["of a", "of a", "of b"]);
    nowMs += 999;
    expect(await get("a")).toBe("of a");
    expect(reads).toHaveLength(2);
    nowMs += 1;
    await cachedValue("a", "newer");
    expect(reads).toHaveLength(3);
  });

  it("counts the age of a value from the beginning of its read", async () => {
    const pending = get("a");
    nowMs += 1000;
    reads[0]?.tell("slow");
    await pending;
    await cachedValue("a", "newer");
  });

  it("returns a stale value of a key for a limited time when the read fails", async () => {
    await cachedValue("a", "old");
    nowMs += 4999;
    const stale = get("a");
    reads.at(-1)?.fail(new Error("away"));
    expect(await stale).toBe("old");
    nowMs += 1;
    const rejection = get("a");
    reads.at(-1)?.fail(new Error("still away"));
    await expect(rejection).rejects.toThrow("still away");
  });

  it("releases a caller that no longer waits, and aborts the read with the last one", async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const pending = [get("a", first.signal), get("a", second.signal)];
    first.abort(new Error("first is gone"));
    await expect(pending[0]).rejects.toThrow("first is gone");
    expect(reads[0]?.signal.aborted).toBe(false);
    second.abort(new Error("second is gone"));
    await expect(pending[1]).rejects.toThrow("second is gone");
    expect(reads[0]?.signal.aborted).toBe(true);
    await cachedValue("a", "for the next one");
  });

  it("evicts the least recently used key", async () => {
    await cachedValue("a", "A");
    await cachedValue("b", "B");
    expect(await get("a")).toBe("A");
    await cachedValue("c", "C");
    expect(await get("a")).toBe("A");
    await cachedValue("b", "read anew");
  });

  describe("a refreshed value", () => {
    const fresh = () => get("a", undefined, 100);

    it("refreshes a key for one caller, while the others get the cached value at once", async () => {
      await cachedValue("a", "old");
      nowMs += 100;
      const pending = fresh();
      expect([await fresh(), await get("a")]).toEqual(["old", "old"]);
      expect(reads).toHaveLength(2);
      reads[1]?.tell("new");
      expect([await pending, await fresh()]).toEqual(["new", "new"]);
      expect(reads).toHaveLength(2);
    });

    it("keeps the cached value when a refresh fails or takes too long, and then pauses for a minute", async () => {
      cache = createCachedValues({ now: () => nowMs, refreshWaitMs: 5 });
      const storedValue = cache.get({
        key: "b",
        ...options,
        read: async () => ({ value: "old", keepMs: 300_000 }),
      });
      expect(await storedValue).toBe("old");
      let count = 0;
      const failing = () => {
        count += 1;
        return count === 1 ? Promise.reject(new Error("away")) : new Promise<never>(() => {});
      };
      const readValue = () =>
        cache.get({ key: "b", ...options, read: failing, refreshAfterMs: 100 });
      for (const [passMs, counts] of [
        [100, 1],
        [59_999, 1],
        [1, 2],
        [59_999, 2],
      ] as const) {
        nowMs += passMs;
        expect([await readValue(), count]).toEqual(["old", counts]);
      }
    });

    it("rejects a waiting caller when its signal aborts", async () => {
      await cachedValue("a", "old");
      nowMs += 100;
      const stop = new AbortController();
      const pending = get("a", stop.signal, 100);
      stop.abort(new Error("the lease is over"));
      await expect(pending).rejects.toThrow("the lease is over");
    });
  });
});
