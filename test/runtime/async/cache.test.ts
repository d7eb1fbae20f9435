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
function cachedFrom({ keepMs = 1000, ...rest }: Partial<Loaded<string>> = {}, retryAfterMs = 0) {
  const world = {
    nowMs: 1_000_000,
    loads: 0,
    source: async (): Promise<string> => `v${world.loads}`,
  };
  const load = async () => {
    world.loads += 1;
    return { value: await world.source(), keepMs, ...rest };
  };
  return { world, cached: createCachedValue({ load, now: () => world.nowMs, retryAfterMs }) };
}

const away = () => Promise.reject(new Error("away"));

describe("a cached value", () => {
  it("is loaded once by all who ask at once, given at once while it is good, and then loaded anew", async () => {
    const { world, cached } = cachedFrom();
    expect(cached.peek()).toBeUndefined();
    expect(await Promise.all([cached.get(), cached.get(), cached.get()])).toEqual([
      "v1",
      "v1",
      "v1",
    ]);
    world.nowMs += 999;
    expect(cached.get()).toBe("v1");
    expect(cached.peek()).toMatchObject({ value: "v1" });
    world.nowMs += 1;
    expect(cached.peek()).toBeUndefined();
    expect(await cached.get()).toBe("v2");
  });

  it("stands in for its time where a load fails, and then no longer", async () => {
    const { world, cached } = cachedFrom({ staleMs: 5000 });
    await cached.get();
    world.source = away;
    world.nowMs += 4999;
    expect(await cached.get()).toBe("v1");
    world.nowMs += 1;
    await expect(cached.get()).rejects.toThrow("away");
  });

  it("is not what a load failed with: the next caller loads again", async () => {
    const { world, cached } = cachedFrom();
    const { source } = world;
    world.source = away;
    await expect(Promise.all([cached.get(), cached.get()])).rejects.toThrow("away");
    world.source = source;
    expect(await cached.get()).toBe("v2");
  });

  it("that must not be kept goes to those who wait for it, and replaces nothing", async () => {
    const none = cachedFrom({ keepMs: 0 });
    expect(await Promise.all([none.cached.get(), none.cached.get()])).toEqual(["v1", "v1"]);
    expect(await none.cached.get()).toBe("v2");
  });

  it("is refreshed by one caller, and after a failed refresh not before its time", async () => {
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

  it("is reloaded at most once in the given time, however often that is asked for", async () => {
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

  it("stands in for its time even if it must be loaded anew for each caller", async () => {
    const { world, cached } = cachedFrom({ keepMs: 0, staleMs: 5000 });
    expect([await cached.get(), await cached.get()]).toEqual(["v1", "v2"]);
    world.source = away;
    expect(await cached.get()).toBe("v2");
  });

  it("is given to the load that replaces it, however old it is", async () => {
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

  it("is replaced by one that a caller has loaded, which ages from then on", async () => {
    const { world, cached } = cachedFrom();
    await cached.get();
    world.nowMs += 900;
    cached.set({ value: "given", keepMs: 500 });
    world.nowMs += 499;
    expect(cached.get()).toBe("given");
    world.nowMs += 1;
    expect(await cached.get()).toBe("v2");
  });

  it("is forgotten where it is the refused one, and only then", async () => {
    const { cached } = cachedFrom();
    await cached.get();
    cached.forget((value) => value === "another");
    expect(cached.get()).toBe("v1");
    cached.forget((value) => value === "v1");
    expect(await cached.get()).toBe("v2");
  });
});

describe("a clock that is set back", () => {
  it("does not lengthen the life of a value, nor lets it stand in", async () => {
    const { world, cached } = cachedFrom({ staleMs: 5000 });
    await cached.get();
    world.nowMs -= 86_400_000;
    expect(cached.peek()).toBeUndefined();
    expect(await cached.get()).toBe("v2");
    world.nowMs -= 1;
    world.source = away;
    await expect(cached.get()).rejects.toThrow("away");
  });

  it("keeps a value that never expires", async () => {
    const { world, cached } = cachedFrom({ keepMs: Number.POSITIVE_INFINITY });
    await cached.get();
    world.nowMs -= 86_400_000;
    expect(cached.get()).toBe("v1");
  });

  it("does not lengthen the pause between two loads, nor the one after a failure", async () => {
    const { world, cached } = cachedFrom();
    await cached.get();
    world.nowMs -= 86_400_000;
    await cached.reload({ minIntervalMs: 30_000 });
    expect(world.loads).toBe(2);

    let nowMs = 1_000_000;
    let isAway = true;
    const load = async () => (isAway ? away() : "here");
    const paused = pauseAfterFailure({ load, now: () => nowMs, pauseMs: () => 2000 });
    await expect(paused()).rejects.toThrow("away");
    isAway = false;
    nowMs -= 86_400_000;
    expect(await paused()).toBe("here");
  });
});

describe("a load that was overtaken", () => {
  it("does not replace what a caller set meanwhile", async () => {
    const { world, cached } = cachedFrom();
    const { promise, resolve } = Promise.withResolvers<string>();
    world.source = () => promise;
    const waiting = cached.get();
    cached.set({ value: "newer", keepMs: 1000 });
    resolve("refused");
    await waiting;
    expect(cached.get()).toBe("newer");
  });

  it("does not replace the value of the load that began when it was abandoned", async () => {
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
  it("fails with the same error until the pause is over, which begins when the load has failed", async () => {
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

  const unread = { signal: new AbortController().signal };

  async function cachedValue(key: string, value: string): Promise<void> {
    const pending = get(key);
    reads.at(-1)?.tell(value);
    expect(await pending).toBe(value);
  }

  it("is read once by all who ask at once, and once more when its time is over", async () => {
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

  it("counts its time from when the read began, so that it is never older than it may be", async () => {
    const pending = get("a");
    nowMs += 1000;
    reads[0]?.tell("slow");
    await pending;
    await cachedValue("a", "newer");
  });

  it("goes on for its time where it cannot be read anew, and then no longer", async () => {
    await cachedValue("a", "old");
    nowMs += 4999;
    const stale = get("a");
    reads.at(-1)?.fail(new Error("away"));
    expect(await stale).toBe("old");
    nowMs += 1;
    const rejected = get("a");
    reads.at(-1)?.fail(new Error("still away"));
    await expect(rejected).rejects.toThrow("still away");
  });

  it("lets go who waits no longer, and ends the read when it was the last", async () => {
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

  it("makes room by what was used the longest time ago", async () => {
    await cachedValue("a", "A");
    await cachedValue("b", "B");
    expect(await get("a")).toBe("A");
    await cachedValue("c", "C");
    expect(await get("a")).toBe("A");
    await cachedValue("b", "read anew");
  });

  describe("that is to be refreshed", () => {
    const fresh = () => get("a", undefined, 100);

    it("is read anew by one caller; the others get what is kept and wait for nothing", async () => {
      await cachedValue("a", "old");
      nowMs += 100;
      const pending = fresh();
      expect([await fresh(), await get("a")]).toEqual(["old", "old"]);
      expect(reads).toHaveLength(2);
      reads[1]?.tell("new");
      expect([await pending, await fresh()]).toEqual(["new", "new"]);
      expect(reads).toHaveLength(2);
    });

    it("goes on where it cannot be read anew or takes too long, and is left alone for a minute then", async () => {
      cache = createCachedValues({ now: () => nowMs, refreshWaitMs: 5 });
      const stored = cache.get({
        key: "b",
        ...unread,
        read: async () => ({ value: "old", keepMs: 300_000 }),
      });
      expect(await stored).toBe("old");
      let count = 0;
      const failing = () => {
        count += 1;
        return count === 1 ? Promise.reject(new Error("away")) : new Promise<never>(() => {});
      };
      const readValue = () =>
        cache.get({ key: "b", ...unread, read: failing, refreshAfterMs: 100 });
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

    it("ends with the signal", async () => {
      await cachedValue("a", "old");
      nowMs += 100;
      const stop = new AbortController();
      const pending = get("a", stop.signal, 100);
      stop.abort(new Error("the lease is over"));
      await expect(pending).rejects.toThrow("the lease is over");
    });
  });
});
