/** How often the configured tokens are read: floods of wrong ones share a read, and rotated ones are seen all the same. */
import { describe, expect, it } from "@jest/globals";
import { createAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";

const config = { type: "bearer" as const, tokens: [{ env: "OLD" }, { env: "NEW" }] };

function start() {
  const secrets: Record<string, string> = {
    OLD: "the-old-token-of-this-test",
    NEW: "the-new-token-of-this-test",
  };
  const state = { nowMs: 0, reads: 0, isAway: false };
  const authenticator = createAuthenticator({
    config,
    now: () => state.nowMs,
    async readSecret(reference) {
      state.reads += 1;
      if (state.isAway) throw new Error("away");
      return ("env" in reference && secrets[reference.env]) || "";
    },
  });
  const ask = (token = "wrong") =>
    authenticator.authenticate({ header: () => `Bearer ${token}`, platformPrincipal: undefined });
  return { secrets, state, ask };
}

describe("the configured tokens", () => {
  it("reads the tokens again after 30 seconds, accepts a new one and refuses the replaced one", async () => {
    const { secrets, state, ask } = start();
    const { OLD: oldToken } = secrets;
    expect(await ask(oldToken)).toBe("bearer");
    secrets.OLD = "another-token-of-this-test";
    state.nowMs = 30_000;
    expect([await ask(oldToken), await ask(secrets.OLD)]).toEqual([undefined, "bearer"]);
    expect(state.reads).toBe(4);
  });

  it("refuses every caller while a configured token has fewer than 20 characters", async () => {
    const { secrets, ask } = start();
    secrets.OLD = "a".repeat(20);
    expect(await ask(secrets.OLD)).toBe("bearer");
    const shorter = start();
    shorter.secrets.OLD = "a".repeat(19);
    // The log names the kind of the error.
    await expect(shorter.ask(secrets.NEW)).rejects.toMatchObject({ name: "TokenTooShort" });
  });

  it("refuses every caller while the tokens cannot be read, and pauses between attempts", async () => {
    const { secrets, state, ask } = start();
    await ask(secrets.OLD);
    Object.assign(state, { nowMs: 30_000, isAway: true, reads: 0 });
    for (let i = 0; i < 10; i++) await expect(ask(secrets.OLD)).rejects.toThrow("away");
    expect(state.reads).toBe(2);
    Object.assign(state, { nowMs: 32_000, isAway: false });
    expect(await ask(secrets.OLD)).toBe("bearer");
  });
});
