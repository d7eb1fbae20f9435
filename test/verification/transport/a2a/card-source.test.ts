import { describe, expect, it } from "@jest/globals";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { freshnessMs } from "@sekisho/verification/transport/a2a/card-source.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { connectionReset } from "../../../doubles/web-server.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import { agentOf, answerWith, clientTo, hello, sessionId } from "./sample.ts";

const answer = () => answerWith("hi");

const goodCard = (base: string, headers: Record<string, string> = {}) =>
  json(cardOf({ url: `${base}/a2a`, version: "1.0" }), { headers });

/** A clock that the test moves. */
function clock() {
  let nowMs = 1_000_000;
  return {
    now: () => nowMs,
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

describe("the card of an A2A agent", () => {
  it("fetches the card as JSON with the credentials of the authorizer", async () => {
    const agent = await agentOf({ answer });
    const authorizer = createBearerAuthorizer({ readToken: async () => "a-token" });
    await clientTo(agent.cardUrl, { authorizer }).call("execute_task", hello);
    expect(Object.fromEntries(agent.gets[0]?.headers ?? [])).toMatchObject({
      accept: "application/json",
      "accept-encoding": "identity",
      authorization: "Bearer a-token",
      "a2a-version": "1.0",
    });
    expect(agent.calls[0]?.headers.get("authorization")).toBe("Bearer a-token");
  });

  it("fetches the card once for many calls and keeps it while it is fresh", async () => {
    const agent = await agentOf({ answer });
    const { now, pass } = clock();
    const { call } = clientTo(agent.cardUrl, { now });
    await Promise.all(Array.from({ length: 5 }, () => call("execute_task", hello)));
    pass(4 * 60_000);
    await call("execute_task", hello);
    expect([agent.gets.length, agent.calls.length]).toEqual([1, 6]);
  });

  it("revalidates an expired card by its ETag and keeps it if unchanged", async () => {
    const etag = '"first"';
    const agent = await agentOf({
      answer,
      card: (request, base) =>
        request.headers.get("if-none-match") === etag
          ? new Response(null, { status: 304, headers: { "cache-control": "max-age=600" } })
          : goodCard(base, { etag, "cache-control": "max-age=120" }),
    });
    const { now, pass } = clock();
    const { call } = clientTo(agent.cardUrl, { now });
    await call("execute_task", hello);
    pass(121_000);
    await call("execute_task", hello);
    // The time that counts is that of the last answer.
    pass(500_000);
    await call("execute_task", hello);
    expect(agent.gets.map(({ headers }) => headers.get("if-none-match"))).toEqual([null, etag]);
    expect(agent.calls).toHaveLength(3);
  });

  it("uses a card for hours if it cannot be fetched again, and then gives up", async () => {
    let isGone = false;
    const agent = await agentOf({
      answer,
      card: (_, base) => (isGone ? raw("", { status: 500 }) : goodCard(base)),
    });
    const { now, pass } = clock();
    const { call } = clientTo(agent.cardUrl, { now });
    await call("execute_task", hello);
    isGone = true;
    pass(10 * 60_000);
    // Asked for once more, and then left alone for a while.
    for (const _ of [1, 2, 3])
      await expect(call("execute_task", hello)).resolves.toMatchObject({ status: "success" });
    expect(agent.gets).toHaveLength(2);
    pass(7 * 60 * 60_000);
    await expect(call("execute_task", hello)).rejects.toMatchObject({
      reason: "unavailable",
      certainty: "undelivered",
    });
  });

  it("follows up to three redirects of the card at its own origin", async () => {
    const places = ["/.well-known/agent-card.json", "/one", "/two", "/three"];
    const agent = await agentOf({
      answer,
      card(request, base) {
        const next = places[places.indexOf(new URL(request.url).pathname) + 1];
        return next === undefined
          ? goodCard(base)
          : new Response(null, { status: 302, headers: { location: next } });
      },
    });
    const authorizer = createBearerAuthorizer({ readToken: async () => "a-token" });
    await clientTo(agent.cardUrl, { authorizer }).call("execute_task", hello);
    expect(agent.gets.map(({ headers }) => headers.get("authorization"))).toEqual(
      Array(4).fill("Bearer a-token"),
    );
  });

  it.each([301, 302, 303, 307, 308])(
    "never follows a redirect of the card to another origin (%i)",
    async (status) => {
      const elsewhere = await agentOf({ answer });
      const agent = await agentOf({
        answer,
        card: () => new Response(null, { status, headers: { location: elsewhere.cardUrl } }),
      });
      await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
        reason: "invalid_response",
        certainty: "undelivered",
      });
      expect([elsewhere.gets, elsewhere.calls, agent.calls]).toEqual([[], [], []]);
    },
  );

  it("sends nothing to an interface at another origin", async () => {
    const elsewhere = await agentOf({ answer });
    const agent = await agentOf({ answer, card: () => goodCard(elsewhere.url) });
    const refusedCall = agent.call("execute_task", hello);
    await expect(refusedCall).rejects.toMatchObject({
      reason: "invalid_response",
      certainty: "undelivered",
    });
    await clientTo(agent.cardUrl, { url: `${agent.url}/rpc` }).call("execute_task", hello);
    expect([elsewhere.calls.length, agent.calls.map(({ path }) => path)]).toEqual([0, ["/rpc"]]);
  });

  const chunk = new TextEncoder().encode(" ".repeat(64 * 1024));
  const bad: Record<string, { card: () => Response; reason: string }> = {
    "is an HTML page": {
      card: () => raw("<html>", { headers: { "content-type": "text/html" } }),
      reason: "invalid_response",
    },
    "is not JSON": { card: () => raw("oops"), reason: "invalid_response" },
    "is no card": { card: () => json({ name: 7 }), reason: "invalid_response" },
    "is not UTF-8": {
      card: () =>
        new Response(new Uint8Array([0x22, 0xff, 0x22]), {
          headers: { "content-type": "application/json" },
        }),
      reason: "invalid_response",
    },
    "never ends": {
      card: () => raw(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) })),
      reason: "invalid_response",
    },
    "is reported as unchanged without a cached copy": {
      card: () => new Response(null, { status: 304 }),
      reason: "invalid_response",
    },
    "redirects in circles": {
      card: () => new Response(null, { status: 302, headers: { location: "/" } }),
      reason: "invalid_response",
    },
    "redirects to nowhere": {
      card: () => new Response(null, { status: 302 }),
      reason: "invalid_response",
    },
    "is missing": { card: () => raw("", { status: 404 }), reason: "invalid_response" },
    "is not for us": { card: () => raw("", { status: 403 }), reason: "permission_denied" },
    "is for those who are known": {
      card: () => raw("", { status: 401 }),
      reason: "unauthenticated",
    },
    "is asked for too often": { card: () => raw("", { status: 429 }), reason: "rate_limited" },
    "fails with 500": { card: () => raw("", { status: 500 }), reason: "unavailable" },
    "fails with 504": { card: () => raw("", { status: 504 }), reason: "unavailable" },
    "is too large for whoever stands before it": {
      card: () => raw("", { status: 413 }),
      reason: "invalid_response",
    },
    "breaks off": {
      card: () => {
        throw connectionReset;
      },
      reason: "unavailable",
    },
  };

  it.each(Object.keys(bad))("treats a call as undelivered if the card %s", async (name) => {
    const agent = await agentOf({ answer, card: () => bad[name]?.card() ?? raw("") });
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
      reason: bad[name]?.reason,
      certainty: "undelivered",
    });
    expect(agent.calls).toEqual([]);
  });

  it("treats a call as undelivered if the card does not come in time", async () => {
    const agent = await agentOf({ answer, card: () => new Promise(() => {}) });
    const call = agent.call("execute_task", hello, { signal: AbortSignal.timeout(50) });
    await expect(call).rejects.toMatchObject({ reason: "unavailable", certainty: "undelivered" });
    expect(agent.calls).toEqual([]);
  });

  it("fetches the card again at the next call after a failure", async () => {
    let count = 0;
    const agent = await agentOf({
      answer,
      card: (_, base) =>
        count++ === 0 ? raw("", { status: 503, headers: { "retry-after": "7" } }) : goodCard(base),
    });
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
      reason: "unavailable",
      details: { retry_after_ms: 7000 },
    });
    await expect(agent.call("execute_task", hello)).resolves.toMatchObject({ status: "success" });
  });

  it("describes the agent by the name, address and version on its card", async () => {
    const agent = await agentOf({});
    const { transport } = clientTo(agent.cardUrl);
    expect(await transport.describe?.({ sessionId, signal: hangSignal() })).toEqual({
      name: "an agent",
      url: `${agent.url}/a2a`,
      version: "1.0",
    });
  });
});

describe("authorization of the A2A transport", () => {
  it("renews the token once after a 401, for the card and for a message", async () => {
    const tokens = ["first", "second", "third"];
    const agent = await agentOf({
      card: (request, base) =>
        request.headers.get("authorization") === "Bearer first"
          ? raw("", { status: 401 })
          : json({ name: "an agent", protocolVersion: "1.0", url: `${base}/a2a` }),
      answer: ({ headers }) =>
        headers.get("authorization") === "Bearer third"
          ? answerWith("hi")
          : raw("", { status: 401 }),
    });
    const authorizer = createBearerAuthorizer({ readToken: async () => tokens.shift() ?? "none" });
    expect(await clientTo(agent.cardUrl, { authorizer }).call("execute_task", hello)).toMatchObject(
      {
        response_text: "hi",
      },
    );
    expect(agent.gets).toHaveLength(2);
    expect(agent.calls).toHaveLength(2);
    expect(agent.calls[1]?.params).toEqual(agent.calls[0]?.params);
  });

  it("sends no request for the card if its credentials are missing", async () => {
    const agent = await agentOf({});
    const authorizer = createBearerAuthorizer({
      readToken: () => Promise.reject(new Error("the store is down")),
    });
    const call = clientTo(agent.cardUrl, { authorizer }).call("execute_task", hello);
    await expect(call).rejects.toMatchObject({ reason: "unavailable", certainty: "undelivered" });
    expect(agent.gets).toEqual([]);
  });

  it.each([
    "http://agent.example/card",
    "https://user:pass@agent.example/card",
    "ftp://127.0.0.1/card",
  ])("refuses the address %s for card and agent without repeating its password", (url) => {
    const makers = [
      () => createHttpsCarrier({ cardUrl: url, authorizer: noAuthorizer }),
      () =>
        createHttpsCarrier({
          cardUrl: "https://agent.example/card",
          url,
          authorizer: noAuthorizer,
        }),
    ];
    for (const make of makers) {
      expect(make).toThrow(/must/);
      expect(make).not.toThrow(/user:pass/);
    }
  });
});

describe("the freshness of a card", () => {
  it.each([
    ["max-age=600", 600_000],
    ["public, max-age=120, must-revalidate", 120_000],
    ["Public,MAX-AGE=120", 120_000],
    ['max-age="120"', 120_000],
  ])("keeps a card fresh for the time in Cache-Control: %s", (cacheControl, ms) => {
    expect(freshnessMs(cacheControl)).toBe(ms);
  });

  it.each(["max-age=0", "max-age=1", "no-store", "no-cache, max-age=600"])(
    "keeps a card fresh for at least a minute with Cache-Control: %s",
    (text) => {
      expect(freshnessMs(text)).toBe(60_000);
    },
  );

  it("keeps a card fresh for at most an hour, so that changes are found", () => {
    expect(freshnessMs("max-age=31536000")).toBe(60 * 60_000);
  });

  it.each([undefined, "", "public", "s-maxage=900", "max-age=soon", "max-age=-1"])(
    "keeps a card fresh for five minutes with Cache-Control: %s",
    (text) => {
      expect(freshnessMs(text)).toBe(5 * 60_000);
    },
  );
});
