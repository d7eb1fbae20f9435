/** Callers who are refused. */
import { describe, expect, it } from "@jest/globals";
import { canRepeat } from "@sekisho/contracts/certainty.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  type Authenticator,
  createAdmitCaller,
} from "@sekisho/execution/authenticator/authenticator.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { collectLog } from "../../doubles/collect-log.ts";

const right = "the-right-token-of-this-test";

function start(
  authenticator: Authenticator = createBearerAuthenticator({ readTokens: async () => [right] }),
) {
  let nowMs = 0;
  const { lines, log } = collectLog({ service: "execution" });
  const admit = createAdmitCaller({ authenticator, now: () => nowMs, log });
  return {
    /** Message, reason and address of each line. */
    logged: () =>
      lines.map((line) => {
        const { message, reason, source_address } = JSON.parse(line);
        return [message, reason, source_address];
      }),
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** The principal, or the error. */
    ask: (token: string | undefined, sourceAddress = "192.0.2.1") =>
      admit({
        header: (name) => (name === "authorization" && token ? `Bearer ${token}` : undefined),
        sourceAddress,
      }).catch((error: unknown) => error),
  };
}

describe("an address", () => {
  it("refuses a wrong token as not retryable, however many came before it", async () => {
    const { ask } = start();
    for (let i = 0; i < 200; i++) {
      const error = await ask(i % 2 === 0 ? "wrong" : undefined);
      expect(error).toMatchObject({ reason: "unauthenticated" });
      expect(canRepeat(SekishoError.from(error))).toBe(false);
    }
  });

  it("accepts the right token after many wrong ones from the same address", async () => {
    const { ask } = start();
    for (let i = 0; i < 200; i++) await ask("wrong");
    expect(await ask(right)).toBe("bearer");
  });

  it("logs one refusal per address and minute", async () => {
    const { ask, logged: readLog, pass } = start();
    const line = ["request_refused", "unauthenticated", "192.0.2.1"];
    for (let i = 0; i < 200; i++) await ask("wrong");
    expect(readLog()).toEqual([line]);
    await ask("wrong", "192.0.2.2");
    expect(readLog()).toEqual([line, ["request_refused", "unauthenticated", "192.0.2.2"]]);
    pass(60_000);
    for (let i = 0; i < 10; i++) await ask("wrong");
    expect(readLog()).toHaveLength(3);
  });

  it("forgets an address after a thousand others, so that its memory is bounded", async () => {
    const { ask, logged } = start();
    await ask("wrong");
    for (let i = 0; i < 1000; i++) await ask("wrong", `198.51.100.${i}`);
    await ask("wrong");
    expect(logged().filter(([, , address]) => address === "192.0.2.1")).toHaveLength(2);
  });
});

it("logs a failing authenticator once per minute and lets callers retry", async () => {
  const { ask, logged, pass } = start({
    kind: "jwt",
    authenticate: () => Promise.reject(new Error("away")),
  });
  for (let i = 0; i < 10; i++)
    expect(await ask("any")).toMatchObject({ reason: "unavailable", certainty: "refused" });
  expect(logged()).toEqual([["authenticator_failed", undefined, undefined]]);
  pass(60_000);
  await ask("any");
  expect(logged()).toHaveLength(2);
});
