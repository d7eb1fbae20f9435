/** The ingress: which request gets which answer, and what reaches the queue. */
import { describe, expect, it } from "@jest/globals";
import type { HeaderPairs } from "../../../lambdas/verification/ingress/authenticate.ts";
import { setUp } from "./setup.ts";
import { bytesOf, fixture, nowMs, secret, signed } from "./slack-request.ts";

const body = bytesOf(fixture("app-mention"));
const { headers } = signed({ body });
const without = (name: string): HeaderPairs => headers.filter(([given]) => given !== name);
const renamed = (change: (name: string) => string): HeaderPairs =>
  headers.map(([name, value]) => [change(name), value] as const);

describe("an unsigned request", () => {
  it.each([
    ["without any header", []],
    ["without the signature", without("X-Slack-Signature")],
    ["without the timestamp", without("X-Slack-Request-Timestamp")],
    ["with an empty signature", [...without("X-Slack-Signature"), ["X-Slack-Signature", ""] as const]],
    ["with an empty timestamp", [...without("X-Slack-Request-Timestamp"), ["X-Slack-Request-Timestamp", ""] as const]],
    ["with the signature twice", [...headers, ...headers.filter(([name]) => name === "X-Slack-Signature")]],
    ["with a second signature that is empty", [...headers, ["x-slack-signature", ""] as const]],
    ["with the timestamp twice", [...headers, ["x-slack-request-timestamp", String(nowMs / 1000)] as const]],
  ])("is refused with 401 and reaches nothing: %s", async (_name, headers) => {
    const { ingress, asks } = setUp();
    expect(await ingress({ headers, body })).toEqual({
      status: 401,
      headers: { "cache-control": "no-store" },
      body: "",
    });
    expect(asks).toEqual([]);
  });

  it("is refused also when it says ssl_check or url_verification", async () => {
    const { ingress } = setUp();
    const sslCheck = await ingress({ headers: [], body: Buffer.from("ssl_check=1&token=abc") });
    const challenge = await ingress({ headers: [], body: bytesOf(fixture("url-verification")) });
    expect([sslCheck.status, challenge.status, challenge.body]).toEqual([401, 401, ""]);
  });

  it("is refused when it is a replay of more than five minutes ago, or from the future", async () => {
    const { ingress } = setUp();
    const at = async (seconds: number) =>
      (await ingress(signed({ body, timestamp: String(nowMs / 1000 + seconds) }))).status;
    expect([await at(-301), await at(301), await at(-300), await at(300)]).toEqual([401, 401, 200, 200]);
  });
});

describe("a signed request", () => {
  it("reaches the queue as one ask with everything that the worker needs", async () => {
    const { ingress, asks } = setUp();
    expect(await ingress(signed({ body }))).toEqual({
      status: 200,
      headers: { "cache-control": "no-store" },
      body: "",
    });
    expect(asks).toHaveLength(1);
    expect(asks[0]).toMatchObject({
      type: "ask",
      receivedAtMs: nowMs,
      message: { appId: "A0APP00001", channel: "C0CHAN0001", ts: "1762750000.000100" },
      trace: { traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) },
    });
  });

  it("passes whatever the letter case of its header names", async () => {
    const { ingress } = setUp();
    for (const change of [(name: string) => name.toLowerCase(), (name: string) => name.toUpperCase()]) {
      expect((await ingress({ headers: renamed(change), body })).status).toBe(200);
    }
  });

  it("gives the same request id in ten deliveries of any mix, and none is dropped as seen", async () => {
    const { ingress, asks } = setUp();
    for (let delivery = 0; delivery < 10; delivery += 1) {
      const payload = { ...fixture(delivery % 2 ? "app-mention" : "message-with-mention"), event_id: `Ev${delivery}` };
      const more: HeaderPairs = delivery < 3 ? [] : [["X-Slack-Retry-Num", String(delivery % 4)]];
      expect((await ingress(signed({ body: bytesOf(payload), more }))).status).toBe(200);
    }
    expect(asks).toHaveLength(10);
    expect(new Set(asks.map(({ requestId }) => requestId)).size).toBe(1);
  });

  it("that is a redelivery is enqueued, since the first delivery may be the one that was lost", async () => {
    let down = true;
    const sent: string[] = [];
    const send = async ({ body }: { body: string }) => {
      if (down) throw new Error("queue down");
      sent.push(body);
    };
    const { ingress } = setUp({ send });
    expect((await ingress(signed({ body }))).status).toBe(503);
    down = false;
    const more: HeaderPairs = [
      ["X-Slack-Retry-Num", "1"],
      ["X-Slack-Retry-Reason", "http_error"],
    ];
    expect((await ingress(signed({ body, more }))).status).toBe(200);
    expect(sent).toHaveLength(1);
  });

  it("gets 503 without the cause when the queue fails, and the log has no more than the cause's kind", async () => {
    const send = () => Promise.reject(new TypeError("https://sqs.example/secret-queue"));
    const { ingress, lines } = setUp({ send });
    expect(await ingress(signed({ body }))).toMatchObject({ status: 503, body: "" });
    const line = JSON.parse(lines.at(-1) ?? "");
    expect(line).toMatchObject({ message: "enqueue_failed", cause_kind: "TypeError", channel: "C0CHAN0001" });
    expect(line.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(lines.join("")).not.toContain("secret-queue");
  });

  it("gets 503 when the queue does not answer before Slack gives up", async () => {
    const { ingress } = setUp({ send: () => new Promise(() => {}) });
    expect((await ingress(signed({ body }))).status).toBe(503);
  });

  it("is answered with its challenge, as plain text", async () => {
    const { ingress, asks } = setUp();
    const payload = fixture("url-verification");
    const answer = await ingress(signed({ body: bytesOf(payload) }));
    expect(answer).toMatchObject({ status: 200, body: payload.challenge });
    expect(answer.headers["content-type"]).toContain("text/plain");
    expect(asks).toEqual([]);
  });

  it.each([
    ["no JSON", Buffer.from("not json"), "unknown_payload"],
    ["an empty body", Buffer.alloc(0), "unknown_payload"],
    ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "unknown_payload"],
    ["a form", Buffer.from("ssl_check=1&token=abc"), "unknown_payload"],
    ["an unknown type", bytesOf({ type: "app_rate_limited", api_app_id: "A1" }), "unknown_payload"],
    ["the bot's own post", bytesOf(fixture("own-message")), "from_bot"],
    ["a changed message", bytesOf(fixture("message-changed")), "subtype"],
  ])("gets 200 and is dropped by name in the log when it carries %s", async (_name, body, drop) => {
    const { ingress, asks, lines } = setUp();
    expect(await ingress(signed({ body }))).toMatchObject({ status: 200, body: "" });
    expect(asks).toEqual([]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ message: "event_dropped", drop }]);
  });

  it("that is too large is refused before anything else is done with it", async () => {
    const { ingress, lines } = setUp({ maxBodyBytes: body.byteLength - 1 });
    expect((await ingress(signed({ body }))).status).toBe(413);
    expect(lines).toEqual([]);
  });

  it("leaves neither a text, a signature nor a secret in the log", async () => {
    const { ingress, lines } = setUp();
    await ingress(signed({ body }));
    await ingress(signed({ body, key: "another" }));
    await ingress(signed({ body: bytesOf(fixture("own-message")) }));
    const log = lines.join("");
    expect(lines).toHaveLength(3);
    for (const text of ["sekisho?", "関所", "ZZZZZZWSxiZZZ2yIvs3peJ", "v0=", secret]) expect(log).not.toContain(text);
  });
});
