import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createEventPayload } from "../../lib/local/fake-slack/payloads.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import { sendEvent } from "../../lib/local/signed-events.ts";

const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";
const nowMs = 1_762_750_300_000;
const message = {
  channel: workspace.channel.id,
  ts: "1762750000.000100",
  user: workspace.person,
  text: "関所 🏯 &amp;",
};
const payload = createEventPayload({ event: "app_mention", message });

type Received = { headers: IncomingHttpHeaders; body: Buffer };

let server: Server;
let eventsUrl: string;
let received: Received[];
let statuses: number[];
let answerHeaders: Record<string, string>;

beforeEach(async () => {
  received = [];
  statuses = [];
  answerHeaders = {};
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    received.push({ headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(statuses.shift() ?? 200, answerHeaders).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  eventsUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/slack/events`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function send(options: Partial<Parameters<typeof sendEvent>[0]> = {}) {
  return sendEvent({ eventsUrl, signingSecret, payload, now: () => nowMs, sleep: async () => {}, ...options });
}

describe("a signed event", () => {
  it("carries the signature that Slack's documentation describes", async () => {
    expect(await send()).toEqual({ status: 200, deliveries: 1, isAmbiguous: false });
    const [{ headers, body }] = received as [Received];
    const base = Buffer.concat([Buffer.from(`v0:${nowMs / 1000}:`), body]);
    expect(headers["x-slack-request-timestamp"]).toBe(String(nowMs / 1000));
    expect(headers["x-slack-signature"]).toBe(`v0=${createHmac("sha256", signingSecret).update(base).digest("hex")}`);
    expect(JSON.parse(body.toString())).toEqual(payload);
  });

  it("is not repeated once it was taken", async () => {
    await send();
    expect(received.length).toBe(1);
    expect(received[0]?.headers["x-slack-retry-num"]).toBeUndefined();
  });

  it("is delivered up to three times more, with Slack's headers and delays, where it is not taken", async () => {
    statuses = [503, 500, 503, 503, 503];
    const waits: number[] = [];
    const delivery = await send({ sleep: async (ms) => void waits.push(ms) });
    expect(delivery).toEqual({ status: 503, deliveries: 4, isAmbiguous: true });
    expect(waits).toEqual([0, 60_000, 300_000]);
    expect(received.map(({ headers }) => headers["x-slack-retry-num"])).toEqual([undefined, "1", "2", "3"]);
    expect(received[3]?.headers["x-slack-retry-reason"]).toBe("http_error");
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
  });

  it("is signed anew for each delivery", async () => {
    statuses = [503];
    const times = [nowMs, nowMs + 60_000];
    await send({ now: () => times.shift() ?? 0 });
    expect(received[0]?.headers["x-slack-signature"]).not.toBe(received[1]?.headers["x-slack-signature"]);
  });

  it.each([
    { answers: [403, 403], isAmbiguous: false },
    { answers: [503, 403], isAmbiguous: true },
    { answers: [503, 200], isAmbiguous: false },
  ])("may have been taken after $answers: $isAmbiguous", async ({ answers, isAmbiguous }) => {
    statuses = [...answers];
    expect(await send({ retryDelaysMs: [0] })).toEqual({ status: answers[1], deliveries: 2, isAmbiguous });
  });

  it("is not repeated where the answer forbids it", async () => {
    statuses = [503];
    answerHeaders = { "x-slack-no-retry": "1" };
    expect(await send()).toEqual({ status: 503, deliveries: 1, isAmbiguous: true });
  });

  it("survives that nobody listens, and ends with its signal", async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const stop = new AbortController();
    const delivery = await send({
      eventsUrl: `http://127.0.0.1:${port}/slack/events`,
      signal: stop.signal,
      sleep: async () => stop.abort(),
    });
    expect(delivery).toEqual({ status: undefined, deliveries: 1, isAmbiguous: true });
  });
});

describe("a payload", () => {
  it.each([
    ["app_mention", "app-mention", message],
    ["message", "message-im", { ...message, channel: workspace.directMessages.id }],
    ["message", "message-with-mention", message],
  ] as const)("of %s has the fields of Slack's (%s)", (event, fixture, given) => {
    const real = JSON.parse(readFileSync(new URL(`../fixtures/slack/${fixture}.json`, import.meta.url), "utf8"));
    const made = createEventPayload({ event, message: given });
    expect(Object.keys(made).sort()).toEqual(Object.keys(real).sort());
    expect(Object.keys(made.event).sort()).toEqual(Object.keys(real.event).sort());
    expect(made.event.channel_type).toBe(real.event.channel_type);
  });

  it("differs between the two events for one post in its event id, not in what names the post", () => {
    const other = createEventPayload({ event: "message", message });
    expect(other.event_id).not.toBe(payload.event_id);
    expect([other.api_app_id, other.event.channel, other.event.ts]).toEqual([
      payload.api_app_id,
      payload.event.channel,
      payload.event.ts,
    ]);
  });
});
