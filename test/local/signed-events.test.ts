import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { sendEvent } from "@sekisho/local/signed-events.ts";
import { type Received, startWebServer, type WebServer } from "../doubles/web-server.ts";

const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";
const nowMs = 1_762_750_300_000;
const message = {
  channel: workspace.channel.id,
  ts: "1762750000.000100",
  user: workspace.person,
  text: "関所 🏯 &amp;",
};
const payload = createEventPayload({ event: "app_mention", message });

let server: WebServer;
let eventsUrl: string;
let requests: Received[];
let statuses: number[];
let answerHeaders: Record<string, string>;

beforeEach(async () => {
  [requests, statuses, answerHeaders] = [[], [], {}];
  server = await startWebServer({
    async handle(event) {
      requests.push(event);
      return new Response(null, { status: statuses.shift() ?? 200, headers: answerHeaders });
    },
  });
  eventsUrl = `${server.url}/slack/events`;
});
afterEach(() => server.close());

function header(name: string): (string | null)[] {
  return requests.map(({ request }) => request.headers.get(`x-slack-${name}`));
}

function send(options: Partial<Parameters<typeof sendEvent>[0]> = {}) {
  return sendEvent({
    eventsUrl,
    signingSecret,
    payload,
    now: () => nowMs,
    sleep: async () => {},
    ...options,
  });
}

describe("a signed event", () => {
  it("signs an event as Slack's documentation describes", async () => {
    expect(await send()).toEqual({ status: 200, deliveries: 1, isAmbiguous: false });
    const body = Buffer.from(requests[0]?.body ?? []);
    const base = Buffer.concat([Buffer.from(`v0:${nowMs / 1000}:`), body]);
    expect(header("request-timestamp")).toEqual([String(nowMs / 1000)]);
    expect(header("signature")).toEqual([
      `v0=${createHmac("sha256", signingSecret).update(base).digest("hex")}`,
    ]);
    expect(JSON.parse(body.toString())).toEqual(payload);
  });

  it("does not repeat an acknowledged event", async () => {
    await send();
    expect(header("retry-num")).toEqual([null]);
  });

  it("repeats an unacknowledged event up to three times with Slack's headers and delays", async () => {
    statuses = [503, 500, 503, 503, 503];
    const waits: number[] = [];
    const delivery = await send({ sleep: async (ms) => void waits.push(ms) });
    expect(delivery).toEqual({ status: 503, deliveries: 4, isAmbiguous: true });
    expect(waits).toEqual([0, 60_000, 300_000]);
    expect(header("retry-num")).toEqual([null, "1", "2", "3"]);
    expect(header("retry-reason")).toEqual([null, "http_error", "http_error", "http_error"]);
    expect(new Set(requests.map(({ body }) => Buffer.from(body).toString())).size).toBe(1);
  });

  it("signs each delivery anew", async () => {
    statuses = [503];
    const times = [nowMs, nowMs + 60_000];
    await send({ now: () => times.shift() ?? 0 });
    expect(new Set(header("signature")).size).toBe(2);
  });

  it.each([
    { answers: [403, 403], isAmbiguous: false },
    { answers: [503, 403], isAmbiguous: true },
    { answers: [503, 200], isAmbiguous: false },
  ])(
    "decides whether an event is ambiguous after the answers $answers: $isAmbiguous",
    async ({ answers, isAmbiguous }) => {
      statuses = [...answers];
      expect(await send({ retryDelaysMs: [0] })).toEqual({
        status: answers[1],
        deliveries: 2,
        isAmbiguous,
      });
    },
  );

  it("does not repeat an event if the answer forbids it", async () => {
    statuses = [503];
    answerHeaders = { "x-slack-no-retry": "1" };
    expect(await send()).toEqual({ status: 503, deliveries: 1, isAmbiguous: true });
  });

  it("survives a server that does not listen, and stops with its signal", async () => {
    const gone = await startWebServer({ handle: async () => new Response() });
    await gone.close();
    const stop = new AbortController();
    const delivery = await send({
      eventsUrl: gone.url,
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
  ] as const)(
    "creates a payload of %s with the same fields as Slack (%s)",
    (event, fixture, values) => {
      const real = JSON.parse(
        readFileSync(new URL(`../fixtures/slack/${fixture}.json`, import.meta.url), "utf8"),
      );
      const made = createEventPayload({ event, message: values });
      expect(Object.keys(made).sort()).toEqual(Object.keys(real).sort());
      expect(Object.keys(made.event).sort()).toEqual(Object.keys(real.event).sort());
      expect(made.event.channel_type).toBe(real.event.channel_type);
    },
  );

  it("gives the two events for one post different event ids but the same channel and ts", () => {
    const other = createEventPayload({ event: "message", message });
    expect(other.event_id).not.toBe(payload.event_id);
    expect([other.api_app_id, other.event.channel, other.event.ts]).toEqual([
      payload.api_app_id,
      payload.event.channel,
      payload.event.ts,
    ]);
  });
});
