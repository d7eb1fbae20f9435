/** The ingress: which request gets which answer, and what reaches the queue. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { HeaderPairs } from "@sekisho/verification/ingress/authenticate.ts";
import type { Ingress, IngressRequest } from "@sekisho/verification/ingress/ingress.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "@sekisho/verification/ingress/server.ts";
import fc from "fast-check";
import { collectLog } from "../../doubles/collect-log.ts";
import { forAll } from "../../doubles/for-all.ts";
import { emptyAnswer, setUp } from "./setup.ts";
import {
  bytesOf,
  createSignedRequest,
  fixture,
  formOf,
  nowMs,
  secret,
  send,
} from "./slack-request.ts";

const body = bytesOf(fixture("app-mention"));
const { headers } = createSignedRequest({ body });
const without = (name: string): HeaderPairs => headers.filter(([values]) => values !== name);

const renameHeaders = (change: (name: string) => string): HeaderPairs =>
  headers.map(([name, value]) => [change(name), value] as const);

describe("an unsigned request", () => {
  it.each([
    ["without any header", []],
    ["without the signature", without("X-Slack-Signature")],
    ["without the timestamp", without("X-Slack-Request-Timestamp")],
    [
      "with an empty signature",
      [...without("X-Slack-Signature"), ["X-Slack-Signature", ""] as const],
    ],
    [
      "with an empty timestamp",
      [...without("X-Slack-Request-Timestamp"), ["X-Slack-Request-Timestamp", ""] as const],
    ],
    [
      "with the signature twice",
      [...headers, ...headers.filter(([name]) => name === "X-Slack-Signature")],
    ],
    ["with a second signature that is empty", [...headers, ["x-slack-signature", ""] as const]],
    [
      "with the timestamp twice",
      [...headers, ["x-slack-request-timestamp", String(nowMs / 1000)] as const],
    ],
  ])("refuses an unsigned request with 401 and enqueues nothing: %s", async (_name, headers) => {
    const { ingress, asks } = setUp();
    expect(await ingress({ headers, body })).toEqual(emptyAnswer(401));
    expect(asks).toEqual([]);
  });

  it("refuses an unsigned request also for ssl_check and url_verification", async () => {
    const { ingress } = setUp();
    const sslCheck = await ingress({ headers: [], body: Buffer.from("ssl_check=1&token=abc") });
    const challenge = await ingress({ headers: [], body: bytesOf(fixture("url-verification")) });
    expect([sslCheck.status, challenge.status, challenge.body]).toEqual([401, 401, ""]);
  });

  it("refuses a request that is more than five minutes old or from the future", async () => {
    const { ingress } = setUp();
    const at = async (seconds: number) =>
      (await ingress(createSignedRequest({ body, timestamp: String(nowMs / 1000 + seconds) })))
        .status;
    expect([await at(-301), await at(301), await at(-300), await at(300)]).toEqual([
      401, 401, 200, 200,
    ]);
  });
});

const joinEvent = { ...fixture("message-with-mention").event, subtype: "channel_join" };

describe("a signed request", () => {
  it("enqueues a signed request as one user message with everything that the worker needs", async () => {
    const { ingress, asks } = setUp();
    expect(await ingress(createSignedRequest({ body }))).toEqual(emptyAnswer(200));
    expect(asks).toHaveLength(1);
    expect(asks[0]).toMatchObject({
      type: "ask",
      receivedAtMs: nowMs,
      message: { appId: "A0APP00001", channel: "C0CHAN0001", ts: "1762750000.000100" },
      trace: { traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) },
    });
  });

  it("accepts header names in any letter case", async () => {
    const { ingress } = setUp();
    for (const change of [
      (name: string) => name.toLowerCase(),
      (name: string) => name.toUpperCase(),
    ]) {
      expect((await ingress({ headers: renameHeaders(change), body })).status).toBe(200);
    }
  });

  it("gives ten deliveries of a message the same request id and drops none of them", async () => {
    const { ingress, asks } = setUp();
    for (let delivery = 0; delivery < 10; delivery += 1) {
      const payload = {
        ...fixture(delivery % 2 ? "app-mention" : "message-with-mention"),
        event_id: `Ev${delivery}`,
      };
      const more: HeaderPairs = delivery < 3 ? [] : [["X-Slack-Retry-Num", String(delivery % 4)]];
      expect((await ingress(createSignedRequest({ body: bytesOf(payload), more }))).status).toBe(
        200,
      );
    }
    expect(asks).toHaveLength(10);
    expect(new Set(asks.map(({ requestId }) => requestId)).size).toBe(1);
  });

  it("enqueues a redelivery, because the first delivery may have been lost", async () => {
    let down = true;
    const messages: string[] = [];
    const send = async ({ body }: { body: string }) => {
      if (down) throw new Error("queue down");
      messages.push(body);
    };
    const { ingress } = setUp({ send });
    expect((await ingress(createSignedRequest({ body }))).status).toBe(503);
    down = false;
    const more: HeaderPairs = [
      ["X-Slack-Retry-Num", "1"],
      ["X-Slack-Retry-Reason", "http_error"],
    ];
    expect((await ingress(createSignedRequest({ body, more }))).status).toBe(200);
    expect(messages).toHaveLength(1);
  });

  it("answers 503 without the cause when the queue fails, and logs only the kind of the cause", async () => {
    const send = () => Promise.reject(new TypeError("https://sqs.example/secret-queue"));
    const { ingress, lines } = setUp({ send });
    expect(await ingress(createSignedRequest({ body }))).toMatchObject({ status: 503, body: "" });
    const line = JSON.parse(lines.at(-1) ?? "");
    expect(line).toMatchObject({
      message: "enqueue_failed",
      cause_kind: "TypeError",
      channel: "C0CHAN0001",
    });
    expect(line.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(lines.join("")).not.toContain("secret-queue");
  });

  it("answers 503 when the queue does not respond before Slack gives up", async () => {
    const { ingress } = setUp({ send: () => new Promise(() => {}) });
    expect((await ingress(createSignedRequest({ body }))).status).toBe(503);
  });

  it("answers a challenge as plain text", async () => {
    const { ingress, asks } = setUp();
    const payload = fixture("url-verification");
    const answer = await ingress(createSignedRequest({ body: bytesOf(payload) }));
    expect(answer).toMatchObject({ status: 200, body: payload.challenge });
    expect(answer.headers["content-type"]).toContain("text/plain");
    expect(asks).toEqual([]);
  });

  it.each([
    ["invalid JSON", Buffer.from("not json"), "unknown_payload"],
    ["an empty body", Buffer.alloc(0), "unknown_payload"],
    ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "unknown_payload"],
    ["a form", Buffer.from("ssl_check=1&token=abc"), "unknown_payload"],
    ["an unknown type", bytesOf({ type: "app_rate_limited", api_app_id: "A1" }), "unknown_payload"],
    ["the bot's own post", bytesOf(fixture("own-message")), "from_bot"],
    [
      "a person joining a channel",
      bytesOf({ ...fixture("app-mention"), event: joinEvent }),
      "subtype",
    ],
  ])("answers 200 and logs why it drops a request with %s", async (_name, body, drop) => {
    const { ingress, asks, lines } = setUp();
    expect(await ingress(createSignedRequest({ body }))).toMatchObject({ status: 200, body: "" });
    expect(asks).toEqual([]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "event_dropped", drop },
    ]);
  });

  it("refuses a request that is too large before it does anything else", async () => {
    const { ingress, lines } = setUp({ maxBodyBytes: body.byteLength - 1 });
    expect((await ingress(createSignedRequest({ body }))).status).toBe(413);
    expect(lines).toEqual([]);
  });

  it("logs no text, signature or secret", async () => {
    const { ingress, lines } = setUp();
    await ingress(createSignedRequest({ body }));
    await ingress(createSignedRequest({ body, key: "another" }));
    await ingress(createSignedRequest({ body: bytesOf(fixture("own-message")) }));
    const log = lines.join("");
    expect(lines).toHaveLength(3);
    for (const text of ["sekisho?", "関所", "ZZZZZZWSxiZZZ2yIvs3peJ", "v0=", secret])
      expect(log).not.toContain(text);
  });
});

const totalBytes = 1_000_000;
const socketBytes = 200_000;

/** Stands where a user's text does: it may reach the queue and nothing else. */
const canary = "canary-4711";

const names = [
  "app-mention",
  "message-im",
  "file-share",
  "message-changed",
  "own-message",
  "app-home-opened",
  "url-verification",
];

const keys = [
  ...new Set(
    [...names, "slash-command", "block-actions"].flatMap((name) => [
      ...Object.keys(fixture(name)),
      ...Object.keys(fixture(name).event ?? {}),
    ]),
  ),
];

const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    null,
    "",
    0,
    -1,
    1e308,
    [],
    {},
    "__proto__",
    "constructor",
    "\u0000",
    "\ud800",
    "U0BOT00001",
  ),
);

/** An event as Slack sends it, with some fields gone or of another kind. */
const almostEvent = fc
  .record({ name: fc.constantFrom(...names), outer: changes(), inner: changes() })
  .map(({ name, outer, inner }) => {
    const payload = fixture(name);
    const event = payload.event && { ...payload.event, text: `<@U0BOT00001> ${canary}`, ...inner };
    return bytesOf({ ...payload, ...(event ? { event } : {}), ...outer });
  });

/** A slash command or a button, as odd. */
const almostForm = fc
  .record({ name: fc.constantFrom("slash-command", "block-actions"), outer: changes() })
  .map(({ name, outer }) => {
    const payload = { ...fixture(name), text: canary, ...outer };
    return formOf(name === "slash-command" ? payload : { payload: JSON.stringify(payload) });
  });

const brokenEvent = fc
  .tuple(fc.oneof(almostEvent, almostForm), fc.nat(), fc.nat({ max: 255 }), fc.boolean())
  .map(([bytes, at, value, cut]) => {
    const index = at % bytes.length;
    if (cut) return bytes.subarray(0, index);
    const changedBytes = Buffer.from(bytes);
    changedBytes[index] = value;
    return changedBytes;
  });

const deep = fc
  .integer({ min: 1, max: 20_000 })
  .map((depth) => Buffer.from(`{"event":${"[".repeat(depth)}`));

const hostile = fc.oneof(
  fc.uint8Array({ maxLength: 4000 }).map((bytes) => Buffer.from(bytes)),
  fc.json({ maxDepth: 8 }).map((text) => Buffer.from(text)),
  almostEvent,
  almostForm,
  brokenEvent,
  deep,
);

const header = fc.constantFrom(
  "",
  "0",
  "v0=",
  "v0=00",
  `v0=${"0".repeat(64)}`,
  "NaN",
  "1762750300",
  "garbage",
);

const unsigned = (body: Uint8Array) =>
  fc.tuple(header, header).map(([timestamp, signature]): IngressRequest => {
    return {
      headers: [
        ["X-Slack-Request-Timestamp", timestamp],
        ["X-Slack-Signature", signature],
      ],
      body,
    };
  });

const anyRequest = hostile.chain((body) =>
  fc.oneof(
    fc.constant({ request: createSignedRequest({ body }), isSigned: true }),
    unsigned(body).map((request) => ({ request, isSigned: false })),
  ),
);

/** Plays requests until that many bytes have been sent; the seed of a failing one is printed by fast-check. */
async function play(
  bytesToSend: number,
  property: (one: { request: IngressRequest; isSigned: boolean }) => Promise<void>,
) {
  let bytes = 0;
  while (bytes < bytesToSend) {
    await forAll(anyRequest).holdAsync(async (one) => {
      bytes += one.request.body.byteLength;
      await property(one);
    }, 100);
  }
}

function changes() {
  return fc.dictionary(fc.constantFrom(...keys), odd, { maxKeys: 3 });
}

function expectNothingGivenAway(text: string): void {
  for (const secretText of [secret, canary, "SyntaxError", "ZodError", "Unexpected", "    at "])
    expect(text).not.toContain(secretText);
}

describe("hostile bodies", () => {
  it("answers 200 to signed hostile bodies and 401 to unsigned ones, and leaks no text", async () => {
    const { ingress, asks, lines } = setUp();
    const seenIds = new Set<number>();
    await play(totalBytes, async ({ request, isSigned }) => {
      const messageCount = asks.length;
      const { status, body } = await ingress(request);
      seenIds.add(status);
      expect(status).toBe(isSigned ? 200 : 401);
      if (!isSigned) expect([body, asks.length]).toEqual(["", messageCount]);
      expectNothingGivenAway(body);
    });
    expect([...seenIds].sort()).toEqual([200, 401]);
    // How many of the random bodies are events for the bot varies; that some are shows that they get that far.
    expect(asks.length).toBeGreaterThan(0);
    expectNothingGivenAway(lines.join(""));
  });

  describe("a request over a real socket", () => {
    const { log, lines } = collectLog({ level: "debug" });
    let server: VerificationServer;
    beforeAll(async () => {
      const ingress: Ingress = setUp().ingress;
      server = await startVerificationServer({ ingress, port: 0, log });
    });
    afterAll(() => server.close());

    it("answers 200, 400 or 401 to hostile bodies over a real socket and keeps serving", async () => {
      await play(socketBytes, async ({ request, isSigned }) => {
        const { status, body } = await send({ url: `${server.url}/slack/events`, ...request });
        expect(isSigned ? [200] : [400, 401]).toContain(status);
        expectNothingGivenAway(body);
      });
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expectNothingGivenAway(lines.join(""));
    });
  });
});
