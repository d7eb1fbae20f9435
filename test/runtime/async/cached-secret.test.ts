/** A kept secret that is read again after some time. What a mismatch does is asked of the ingress's signing secret. */
import { describe, expect, it } from "@jest/globals";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";

function rotating() {
  const state = { value: "first", nowMs: 0, reads: 0, isAway: false };
  const secret = createCachedSecret({
    readSecret: async () => {
      state.reads += 1;
      if (state.isAway) throw new Error("away");
      return state.value;
    },
    now: () => state.nowMs,
    keepMs: 60_000,
    rereadAfterMs: 0,
  });
  return { state, secret };
}

describe("a cached secret", () => {
  it("reads a secret once per minute", async () => {
    const { state, secret } = rotating();
    await secret.current();
    state.value = "second";
    state.nowMs = 59_999;
    expect(await secret.current()).toBe("first");
    state.nowMs = 60_000;
    expect(await secret.current()).toBe("second");
    expect(state.reads).toBe(2);
  });

  it("keeps a secret that cannot be read again", async () => {
    const { state, secret } = rotating();
    await secret.current();
    state.isAway = true;
    state.nowMs = 60_000;
    expect(await secret.current()).toBe("first");
  });

  it("reads a refused secret again at once", async () => {
    const { state, secret } = rotating();
    await secret.current();
    expect(await secret.readNewer("first")).toBeUndefined();
    state.value = "second";
    expect(await secret.readNewer("first")).toBe("second");
    expect(await secret.current()).toBe("second");
  });
});
