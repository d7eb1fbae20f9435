/** The signing secret: kept while it fits, read again when it was rotated, never read in a flood. */
import { describe, expect, it } from "@jest/globals";

import { createCachedSecret } from "../../../lambdas/shared/async/cached-secret.ts";
import { setUp } from "./setup.ts";
import { bytesOf, fixture, nowMs, signed } from "./slack-request.ts";

const body = bytesOf(fixture("app-mention"));
const request = (key: string) => signed({ body, key });

/** A store of the secret whose value and clock the test sets; counts the reads. */
function rotating(value: string) {
  const state = { value, reads: 0, nowMs };
  const readSecret = async () => {
    state.reads += 1;
    return state.value;
  };
  return { state, ...setUp({ readSecret, now: () => state.nowMs }), readSecret };
}

describe("the signing secret", () => {
  it("is read once for many requests", async () => {
    const { ingress, state } = rotating("first");
    const statuses = await Promise.all([1, 2, 3].map(async () => (await ingress(request("first"))).status));
    await ingress(request("first"));
    expect(statuses).toEqual([200, 200, 200]);
    expect(state.reads).toBe(1);
  });

  it("is read again when it was rotated: the new one passes at once, the old one no longer", async () => {
    const { ingress, state } = rotating("first");
    await ingress(request("first"));
    state.value = "second";
    state.nowMs += 30_000;
    const both = await Promise.all([ingress(request("second")), ingress(request("second"))]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await ingress(request("first"))).status).toBe(401);
    expect(state.reads).toBe(2);
  });

  it("is read once in 30 seconds at most, however many false signatures come", async () => {
    const { ingress, state } = rotating("first");
    await ingress(request("first"));
    state.nowMs += 30_000;
    for (let round = 0; round < 20; round += 1) expect((await ingress(request("false"))).status).toBe(401);
    expect(state.reads).toBe(2);
    state.nowMs += 29_999;
    await ingress(request("false"));
    expect(state.reads).toBe(2);
    state.nowMs += 1;
    await ingress(request("false"));
    expect(state.reads).toBe(3);
  });

  it("is not read again for what no secret could make valid", async () => {
    const { ingress, state } = rotating("first");
    await ingress(request("first"));
    state.nowMs += 60_000;
    await ingress({ headers: [], body });
    await ingress(signed({ body, key: "false", timestamp: "1" }));
    expect(state.reads).toBe(1);
  });

  it("stays in force when the second reading fails or finds nothing", async () => {
    for (const outage of [async () => "", () => Promise.reject(new Error("store down"))]) {
      let readSecret = async () => "first";
      let clockMs = nowMs;
      const { ingress } = setUp({ readSecret: () => readSecret(), now: () => clockMs });
      await ingress(request("first"));
      readSecret = outage;
      clockMs += 30_000;
      expect((await ingress(request("false"))).status).toBe(401);
      expect((await ingress(request("first"))).status).toBe(200);
    }
  });

  it("answers 500 to everything while none is configured, and works as soon as there is one", async () => {
    const { ingress, state, asks } = rotating("");
    expect((await ingress({ headers: [], body })).status).toBe(500);
    expect((await ingress(request(""))).status).toBe(500);
    expect(asks).toEqual([]);
    state.value = "first";
    expect((await ingress(request("first"))).status).toBe(200);
  });

  it("answers 500 where it cannot be read, without the cause, and reads again the next time", async () => {
    let readSecret = (): Promise<string> => Promise.reject(new Error("arn:aws:secretsmanager:secret"));
    const { ingress, lines } = setUp({ readSecret: () => readSecret() });
    const refused = await ingress(request("first"));
    expect(refused).toMatchObject({ status: 500, body: "" });
    expect(lines.join("")).toContain("signing_secret_unreadable");
    expect(lines.join("")).not.toContain("arn:");
    readSecret = async () => "first";
    expect((await ingress(request("first"))).status).toBe(200);
  });

  it("is given up on when the reading hangs", async () => {
    const secret = createCachedSecret({ readSecret: () => new Promise(() => {}), readTimeoutMs: 5 });
    await expect(secret.current()).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
