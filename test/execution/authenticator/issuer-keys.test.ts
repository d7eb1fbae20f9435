/** The keys of an issuer: fetched seldom, replaced when they change, kept while they cannot be fetched, and nobody let in without. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { KeyTimes } from "@sekisho/execution/authenticator/issuer-keys.ts";
import { createJwtAuthenticator } from "@sekisho/execution/authenticator/jwt.ts";
import { type JwksIssuer, newKey, signWith, startJwksIssuer } from "../../doubles/issuers/jwks.ts";
import { closeLater, serveAuthenticator, unavailable } from "./ask.ts";

const claims = { aud: "agents", sub: "verifier" };
const discoveryPath = "/.well-known/openid-configuration";

type Setting = { keyTimes?: Partial<KeyTimes>; byUrl?: boolean; now?: () => number };

async function start({ keyTimes = {}, byUrl = false, now = Date.now }: Setting = {}) {
  const issuer = closeLater(await startJwksIssuer());
  const issuerSettings = {
    issuer: issuer.issuer,
    ...(byUrl && { jwksUrl: issuer.jwksUrl }),
    audience: "agents",
    subjects: ["verifier"],
    algorithms: ["ES256" as const],
    clockToleranceSeconds: 0,
    maxLifetimeSeconds: 7200,
  };
  return {
    issuer,
    ...(await serveAuthenticator(
      createJwtAuthenticator({ issuers: [issuerSettings], keyTimes, now }),
    )),
  };
}

describe("the keys of an issuer", () => {
  it("fetches the keys once for parallel and later callers", async () => {
    const { issuer, call } = await start();
    const token = await issuer.sign(claims);
    const all = await Promise.all(Array.from({ length: 20 }, () => call(token)));
    expect(new Set([...all, await call(token)])).toEqual(new Set(["success"]));
    expect(issuer.fetched).toEqual([discoveryPath, "/keys"]);
  });

  it("fetches the keys again for an unknown key id, because the issuer may have rotated them", async () => {
    const { issuer, call } = await start({ keyTimes: { coolDownMs: 0 } });
    const old = await issuer.sign(claims);
    expect(await call(old)).toBe("success");
    await issuer.rotate();
    expect(await call(old)).toBe("success");
    expect(await call(await issuer.sign(claims))).toBe("success");
    expect(await call(old)).toBe("unauthenticated");
  });

  it("does not fetch the keys again for each token with an unknown key id", async () => {
    const { issuer, call } = await start();
    expect(await call(await issuer.sign(claims))).toBe("success");
    const flood = Array.from({ length: 60 }, async (_, n) =>
      call(await issuer.sign(claims, { kid: `nobody's ${n}` })),
    );
    expect(new Set(await Promise.all(flood))).toEqual(new Set(["unauthenticated"]));
    expect(issuer.fetched).toEqual([discoveryPath, "/keys"]);
  });

  it("refuses withdrawn keys once their maximum age is over", async () => {
    const { issuer, call } = await start({ keyTimes: { maxAgeMs: 0 }, byUrl: true });
    const old = await issuer.sign(claims);
    expect(await call(old)).toBe("success");
    await issuer.rotate();
    expect(await call(old)).toBe("unauthenticated");
  });
});

describe("expired keys that cannot be fetched again", () => {
  const maxStaleMs = 60_000;

  /** As of a host that has let its caller in once, with keys that are looked at again each time. */
  async function startOnce({ coolDownMs = 0 } = {}) {
    let aheadMs = 0;
    const keyTimes = { maxAgeMs: 0, coolDownMs, failureCoolDownMs: 0, maxStaleMs };
    const zone = await start({ keyTimes, now: () => Date.now() + aheadMs });
    const token = await zone.issuer.sign(claims);
    expect(await zone.call(token)).toBe("success");
    return {
      ...zone,
      token,
      goOn(ms: number) {
        aheadMs += ms;
      },
    };
  }
  const down = () => new Response(null, { status: 503 });

  it("accepts stale keys for a limited time while the issuer is unavailable", async () => {
    const { issuer, call, token, goOn } = await startOnce();
    await issuer.close();
    goOn(maxStaleMs / 2);
    expect(await call(token)).toBe("success");
    goOn(maxStaleMs / 2);
    expect(await call(token)).toBe("unavailable");
  });

  it("pauses between attempts to reach a failing issuer and uses stale keys meanwhile", async () => {
    const { issuer, call, token, goOn } = await startOnce({ coolDownMs: maxStaleMs / 4 });
    issuer.misbehave(down);
    const fetchCount = issuer.fetched.length;
    for (let count = 0; count < 5; count++) expect(await call(token)).toBe("success");
    expect(issuer.fetched.length).toBe(fetchCount + 1);
    goOn(maxStaleMs / 4);
    expect(await call(token)).toBe("success");
    expect(issuer.fetched.length).toBe(fetchCount + 2);
  });

  it("does not extend the life of stale keys after a malformed key set", async () => {
    const { issuer, call, token, goOn } = await startOnce();
    issuer.misbehave((path) => (path === "/keys" ? Response.json({ keys: "none" }) : undefined));
    goOn(maxStaleMs / 2);
    expect(await call(token)).toBe("success");
    goOn(maxStaleMs / 2);
    expect(await call(token)).toBe("unavailable");
  });

  it("answers unavailable for a key missing from the stale keys until the issuer is back", async () => {
    const { issuer, call, hear, token } = await startOnce();
    issuer.misbehave(down);
    await issuer.rotate();
    const later = await issuer.sign(claims);
    expect(await hear(later)).toEqual(unavailable);
    expect(await call(token)).toBe("success");
    issuer.misbehave(() => undefined);
    expect(await call(later)).toBe("success");
    expect(await call(token)).toBe("unauthenticated");
  });

  it("refuses a forged or an expired token with stale keys too", async () => {
    const { issuer, call } = await startOnce();
    issuer.misbehave(down);
    const stranger = { ...(await newKey()), kid: issuer.key().kid };
    const nowSeconds = Math.floor(Date.now() / 1000);
    const payload = { iss: issuer.issuer, exp: nowSeconds + 300, ...claims };
    expect(await call(await signWith({ key: stranger, payload }))).toBe("unauthenticated");
    expect(await call(await issuer.sign({ ...claims, exp: nowSeconds - 1 }))).toBe(
      "unauthenticated",
    );
  });
});

describe("keys that are unavailable", () => {
  let stranger: JwksIssuer;
  beforeAll(async () => {
    stranger = await startJwksIssuer();
  });
  afterAll(() => stranger.close());

  const onKeys = (answer: () => Response | Promise<Response>) => (path: string) =>
    path === "/keys" ? answer() : undefined;
  const large = JSON.stringify({ keys: [], padding: "x".repeat(300_000) });
  const cases: Record<string, (path: string) => Response | Promise<Response> | undefined> = {
    "an answer of 500": onKeys(() => new Response("no", { status: 500 })),
    "an answer of 404": () => new Response(null, { status: 404 }),
    "a reset connection": onKeys(() => Promise.reject(new Error("reset"))),
    "a body that is not JSON": onKeys(() => new Response("<html>")),
    "a body that is not a key set": onKeys(() => Response.json({ keys: "none" })),
    "an oversized body": onKeys(() => new Response(large)),
    "an endless body": onKeys(() => endless()),
    "a slow response": onKeys(
      () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
    ),
    "a redirect": onKeys(
      () => new Response(null, { status: 302, headers: { location: stranger.jwksUrl } }),
    ),
    "a document of another issuer": (path) =>
      path === discoveryPath
        ? Response.json({ issuer: stranger.issuer, jwks_uri: stranger.jwksUrl })
        : undefined,
    "a document without the address of the keys": (path) =>
      path === discoveryPath ? Response.json({}) : undefined,
  };

  it.each(Object.keys(cases))(
    "answers with the retryable error unavailable after %s",
    async (name) => {
      const { issuer, hear, lines } = await start({ keyTimes: { timeoutMs: 150 } });
      issuer.misbehave(cases[name] ?? (() => undefined));
      expect(await hear(await issuer.sign(claims))).toEqual(unavailable);
      expect(lines.join("")).toContain('"message":"authenticator_failed"');
      expect(lines.join("")).not.toContain(issuer.issuer);
      expect(stranger.fetched).toEqual([]);
    },
  );

  it("does not fetch keys over plain http", async () => {
    const { issuer, hear } = await start();
    // No loopback address, although this machine would answer.
    const document = {
      issuer: issuer.issuer,
      jwks_uri: stranger.jwksUrl.replace("127.0.0.1", "0.0.0.0"),
    };
    issuer.misbehave((path) => (path === discoveryPath ? Response.json(document) : undefined));
    expect(await hear(await issuer.sign(claims))).toEqual(unavailable);
    expect(stranger.fetched).toEqual([]);
  });

  it("fetches the keys once during the pause after a failure, regardless of the number of calls", async () => {
    const { issuer, call } = await start({ byUrl: true });
    issuer.misbehave(() => new Response(null, { status: 503 }));
    const token = await issuer.sign(claims);
    for (let count = 0; count < 20; count++) expect(await call(token)).toBe("unavailable");
    expect(issuer.fetched).toEqual(["/keys"]);
  });

  it("fetches the keys again once the issuer is back and the pause is over", async () => {
    const { issuer, call } = await start({ keyTimes: { failureCoolDownMs: 0 } });
    issuer.misbehave(() => new Response(null, { status: 503 }));
    const token = await issuer.sign(claims);
    expect(await call(token)).toBe("unavailable");
    issuer.misbehave(() => undefined);
    expect(await call(token)).toBe("success");
  });
});

function endless(): Response {
  const chunk = new Uint8Array(50_000).fill(0x20);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
}
