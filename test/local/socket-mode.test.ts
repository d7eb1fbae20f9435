/** Socket Mode with Slack's own client, against a double of Slack's side on loopback. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type SocketMode, startSocketMode } from "@sekisho/local/socket-mode.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import {
  createIntake,
  type IngressQueue,
  type Intake,
} from "@sekisho/verification/ingress/ingress.ts";
import { type QueueMessage, queueMessageSchema } from "@sekisho/verification/task/messages.ts";
import { type SocketModeSlack, startSocketModeSlack } from "../doubles/socket-mode-slack.ts";
import { fixture } from "../verification/ingress/slack-request.ts";

const appToken = "xapp-1-A0APP00001-the-app-token-of-this-test";
const mention = { type: "events_api", payload: fixture("app-mention") };

let slack: SocketModeSlack;
let running: SocketMode | undefined;
let lines: string[];
let sentMessages: QueueMessage[];
beforeEach(async () => {
  slack = await startSocketModeSlack({ appToken });
  [lines, sentMessages] = [[], []];
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  await slack.close();
});

const remember: IngressQueue["send"] = async ({ body }) => {
  sentMessages.push(queueMessageSchema.parse(JSON.parse(body)));
};

async function start({
  token = appToken,
  send = remember,
}: {
  token?: string;
  send?: IngressQueue["send"];
} = {}) {
  const log = createLog({
    service: "verification",
    level: "debug",
    write: (line) => lines.push(line),
  });
  const intake: Intake = createIntake({ queue: { send }, log });
  running = await startSocketMode({
    appToken: async () => token,
    apiUrl: slack.apiUrl,
    intake,
    log,
    random: () => 0,
  });
}

/** The test's time-out bounds it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("the app over Socket Mode", () => {
  it("handles everything that Slack sends as over HTTP, and acknowledges it", async () => {
    await start();
    const envelopes = [
      mention,
      {
        type: "slash_commands",
        payload: { ...fixture("slash-command"), is_enterprise_install: false },
      },
      { type: "interactive", payload: fixture("block-actions") },
      { type: "events_api", payload: fixture("app-home-opened") },
    ];
    const deliveries = await Promise.all(envelopes.map((envelope) => slack.deliver(envelope)));
    expect(deliveries).toEqual([1, 1, 1, 1]);
    expect(sentMessages.map(({ type }) => type).sort()).toEqual([
      "ask",
      "ask",
      "button_click",
      "conversation_opened",
    ]);
    expect(slack.replies()).toEqual([{}, {}, {}, {}]);
  });

  it("acknowledges a wrongly filled modal with its errors and sends nothing", async () => {
    await start();
    const { view, ...rest } = fixture("view-submission") as unknown as { view: { state: object } };
    await slack.deliver({
      type: "interactive",
      payload: { ...rest, view: { ...view, state: { values: {} } } },
    });
    expect(slack.replies()).toEqual([
      { response_action: "errors", errors: { 0: "入力してください。" } },
    ]);
    expect(sentMessages).toEqual([]);
  });

  it("acknowledges and ignores what is unknown or not for the bot", async () => {
    await start();
    for (const envelope of [
      { type: "events_api", payload: fixture("own-message") },
      {
        type: "events_api",
        payload: { type: "event_callback", event: { type: "reaction_added" } },
      },
      { type: "interactive", payload: { type: "shortcut" } },
      { type: "something_new", payload: {} },
    ]) {
      expect(await slack.deliver(envelope)).toBe(1);
    }
    expect(sentMessages).toEqual([]);
  });

  it("acknowledges messages about the app, and keeps the connection for any event name", async () => {
    await start();
    const rateLimited = {
      type: "app_rate_limited",
      team_id: "T1",
      minute_rate_limited: 1518467820,
      api_app_id: "A1",
    };
    for (const payload of [
      rateLimited,
      null,
      { event: { type: "disconnected" } },
      { event: { type: "close" } },
      { event: { type: "error" } },
    ]) {
      expect(await slack.deliver({ type: "events_api", payload })).toBe(1);
    }
    expect([slack.connections(), slack.hellos()]).toEqual([1, 1]);
  });

  it("ignores a frame that is not an envelope", async () => {
    await start();
    for (const text of [
      "null",
      "7",
      "{",
      "[]",
      '{"type":"events_api"}',
      '{"type":7,"envelope_id":"1"}',
    ])
      slack.say(text);
    expect(await slack.deliver(mention)).toBe(1);
    expect([sentMessages.length, slack.hellos()]).toEqual([1, 1]);
  });

  it("does not acknowledge a message that the queue did not take, so that Slack sends it again", async () => {
    let failures = 2;
    await start({
      send: async (request) => {
        if (failures-- > 0) throw new Error("the queue is away");
        await remember(request);
      },
    });
    expect(await slack.deliver(mention, { ackTimeoutMs: 50 })).toBeGreaterThanOrEqual(3);
    expect(new Set(sentMessages.map(({ requestId }) => requestId)).size).toBe(1);
    const failed = lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === "enqueue_failed");
    expect(failed.map(({ request_id }) => request_id)).toEqual([
      sentMessages[0]?.requestId,
      sentMessages[0]?.requestId,
    ]);
  });

  it("opens another connection when Slack refreshes one, and loses nothing", async () => {
    await start();
    await slack.deliver(mention);
    slack.refresh();
    await until(() => slack.hellos() === 2);
    await slack.deliver(mention);
    expect(new Set(sentMessages.map(({ requestId }) => requestId)).size).toBe(1);
  });

  it("opens another connection after a cut, however often Slack is unavailable meanwhile", async () => {
    await start();
    slack.refuse(503);
    slack.cut();
    await until(() => lines.filter((line) => line.includes("socket_mode_unconnected")).length >= 2);
    const delivered = slack.deliver(mention);
    slack.refuse(undefined);
    expect(await delivered).toBe(1);
  });

  it("acknowledges what is under way when it closes, and leaves no connection", async () => {
    const arrival = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    await start({
      send: async (request) => {
        arrival.resolve();
        await release.promise;
        await remember(request);
      },
    });
    const delivered = slack.deliver(mention);
    await arrival.promise;
    const closed = running?.close();
    release.resolve();
    await closed;
    expect([await delivered, sentMessages.length]).toEqual([1, 1]);
    await until(() => slack.connections() === 0);
    expect(slack.hellos()).toBe(1);
  });

  it("closes a connection that is being opened at that moment", async () => {
    await start();
    const { until: connected, release } = slack.holdHellos();
    slack.cut();
    await connected;
    const closed = running?.close();
    release();
    await closed;
    await until(() => slack.connections() === 0);
    expect(slack.hellos()).toBe(2);
  });

  it("logs neither texts nor tokens nor the address of the connection", async () => {
    await start();
    await slack.deliver(mention);
    slack.cut();
    await until(() => slack.hellos() === 2);
    const log = lines.join("");
    expect(log).toContain("message_enqueued");
    for (const text of ["sekisho?", appToken, "xapp-", "ticket", "ws://"])
      expect(log).not.toContain(text);
  });
});

describe("a failed start", () => {
  it.each([
    ["another app's token", "xapp-1-another", undefined, "(invalid_auth)"],
    ["a bot token", "xoxb-1-a-bot-token", undefined, "begins with xapp-"],
    ["a token without the scope", appToken, "missing_scope", "connections:write"],
    ["an app without Socket Mode", appToken, "not_allowed", "manifest --socket"],
    ["an unreachable Slack", appToken, 503, "cannot be reached"],
  ])("explains why a start fails, without the token: %s", async (_what, token, answer, words) => {
    slack.refuse(answer);
    const refusal = await start({ token }).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : ""),
    );
    expect(refusal).toContain(words);
    expect(refusal).not.toContain(token);
    expect(slack.connections()).toBe(0);
  });
});
