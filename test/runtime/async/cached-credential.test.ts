import { describe, expect, it } from "@jest/globals";
import {
  createCachedCredential,
  type FreshCredential,
} from "@sekisho/runtime/async/cached-credential.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

type Fetch = (count: number) => FreshCredential<string> | Promise<FreshCredential<string>>;

/** An issuer that counts, a clock that a test moves, and no jitter unless the test wants it. */
function keptFrom(
  fetch: Fetch,
  { random = () => 0, timeoutMs = 5000 }: { random?: () => number; timeoutMs?: number } = {},
) {
  const world = { nowMs: 1_000_000, fetches: 0 };
  const credential = createCachedCredential<string>({
    fetch: async () => fetch(++world.fetches),
    now: () => world.nowMs,
    random,
    timeoutMs,
    retryAfterMs: 10_000,
  });
  return { world, credential };
}

const minutes = (count: number) => ({ lifetimeMs: count * 60_000 });

describe("a cached credential", () => {
  it.each([
    ["in the last fifth of its lifetime", 0, 239_000],
    ["up to a tenth of its lifetime later by chance", 0.99, 268_000],
  ])(
    "renews a credential %s, and returns the cached one to other callers at once",
    async (_when, random, keptMs) => {
      const { world, credential } = keptFrom(
        (count) => ({ credential: `c${count}`, ...minutes(5) }),
        {
          random: () => random,
        },
      );
      await credential.current();
      world.nowMs += keptMs;
      expect(credential.current()).toBe("c1");
      world.nowMs += 2000;
      const renewal = credential.current();
      expect(credential.current()).toBe("c1");
      expect(await renewal).toBe("c2");
      expect(world.fetches).toBe(2);
    },
  );

  it("refuses a credential that expired while it was fetched, and fetches the next one", async () => {
    const { world, credential } = keptFrom((count) => {
      if (count === 1) world.nowMs += 300_000;
      return { credential: `c${count}`, ...minutes(5) };
    });
    await expect(credential.current()).rejects.toMatchObject({
      ...{ reason: "unavailable", certainty: "undelivered" },
    });
    expect(await credential.current()).toBe("c2");
  });

  it("keeps the credential when its renewal fails, and pauses before the next attempt", async () => {
    const { world, credential } = keptFrom((count) => {
      if (count > 1) throw new Error("the issuer is down");
      return { credential: "c1", ...minutes(5) };
    });
    await credential.current();
    world.nowMs += 241_000;
    expect(await credential.current()).toBe("c1");
    world.nowMs += 9000;
    expect(credential.current()).toBe("c1");
    expect(world.fetches).toBe(2);
    world.nowMs += 2000;
    expect(await credential.current()).toBe("c1");
    expect(world.fetches).toBe(3);
  });

  it("does not return a credential that could not be renewed at or just before its end", async () => {
    const { world, credential } = keptFrom((count) => {
      if (count > 1) throw new Error("the issuer is down");
      return { credential: "c1", ...minutes(5) };
    });
    await credential.current();
    world.nowMs += 286_000;
    await expect(credential.current()).rejects.toThrow("the issuer is down");
  });

  it("stops waiting for a credential after its time limit, and fetches it again for the next caller", async () => {
    const { world, credential } = keptFrom(
      (count) => (count === 1 ? new Promise(() => {}) : { credential: `c${count}`, ...minutes(5) }),
      { timeoutMs: 20 },
    );
    await expect(credential.current()).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await credential.current()).toBe("c2");
    expect(world.fetches).toBe(2);
  });

  it("renews a credential without an end when configured to, and keeps it after failed renewals", async () => {
    const endless = { lifetimeMs: Number.POSITIVE_INFINITY };
    const { world, credential } = keptFrom((count) => {
      if (count > 1) throw new Error("the store is down");
      return { credential: "c1", ...endless, renewAfterMs: 60_000 };
    });
    await credential.current();
    for (let hour = 0; hour < 5; hour += 1) {
      world.nowMs += 3600_000;
      expect(await credential.current()).toBe("c1");
    }
    expect(world.fetches).toBe(6);
    const { world: quiet, credential: keptForEver } = keptFrom(() => ({
      credential: "c1",
      ...endless,
    }));
    await keptForEver.current();
    quiet.nowMs += 1e12;
    expect(keptForEver.current()).toBe("c1");
  });

  it("returns no expired credential, and renews it neither too early nor too often", async () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 400_000 }),
      issuerIsDown: fc.boolean(),
      isRefused: fc.boolean(),
    });
    const lives = fc.integer({ min: 60_000, max: 3600_000 });
    const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await forAll(fc.array(step, { maxLength: 30 }), lives, jitter).holdAsync(
      async (steps, lifetimeMs, random) => {
        let isDown = false;
        const issuedAtMs: number[] = [];
        const { world, credential } = keptFrom(
          (count) => {
            if (isDown) throw new Error("down");
            issuedAtMs[count] = world.nowMs;
            return { credential: String(count), lifetimeMs };
          },
          { random: () => random },
        );
        const ageMs = (credential: string) => world.nowMs - (issuedAtMs[Number(credential)] ?? 0);
        let good: string | undefined;
        for (const { afterMs, issuerIsDown, isRefused } of steps) {
          world.nowMs += afterMs;
          isDown = issuerIsDown;
          const fetches = world.fetches;
          const isYoung = good !== undefined && ageMs(good) < lifetimeMs * 0.8;
          const currentValue = await Promise.resolve(credential.current()).catch(() => undefined);
          if (currentValue === undefined) expect(isDown).toBe(true);
          else expect(ageMs(currentValue)).toBeLessThan(lifetimeMs);
          if (isYoung) expect(currentValue).toBe(good);
          expect(world.fetches - fetches).toBeLessThanOrEqual(isYoung ? 0 : 1);
          good = isRefused ? undefined : currentValue;
          if (isRefused) credential.forget((value) => value === currentValue);
        }
      },
      200,
    );
  });
});
