import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type SlackStandIn, startSlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { workspace } from "../../../bin/local/stand-in/workspace.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { type SlackApi, SlackError } from "../../../lambdas/verification/slack/slack.ts";
import { createSlackApi } from "../../../lambdas/verification/slack/web-api.ts";

const botToken = "xoxb-stand-in-token";
const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const channel = workspace.channel.id;
const appId = workspace.app;
const text = "The answer that nobody may log";

let standIn: SlackStandIn;
let asked: { ts: string };
let calls: string[];
let lines: string[];
let waits: number[];
let signal: AbortSignal;

beforeEach(async () => {
  standIn = await startSlackStandIn({ signingSecret: "s", botToken });
  // The event goes nowhere: here only the thread is needed.
  asked = standIn.ask({ eventsUrl: standIn.apiUrl, text: "What is a sekisho?" }).message;
  calls = [];
  standIn.onCall(({ method }) => calls.push(method));
  lines = [];
  waits = [];
  signal = AbortSignal.timeout(20_000);
});
afterEach(() => standIn.close());

function api(options: Partial<Parameters<typeof createSlackApi>[0]> = {}): SlackApi {
  return createSlackApi({
    token: async () => botToken,
    apiUrl: standIn.apiUrl,
    log: createLog({ service: "verification", level: "debug", write: (line) => lines.push(line) }),
    sleep: async (ms) => void waits.push(ms),
    random: () => 0.5,
    ...options,
  });
}

function post(slack: SlackApi, part = 0) {
  return slack.post({ channel, threadTs: asked.ts, text, key: { requestId, part }, signal });
}

async function failure(call: Promise<unknown>): Promise<SlackError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SlackError)) throw new Error("A SlackError was expected.");
  return error;
}

function answers(): string[] {
  return standIn
    .thread({ channel, ts: asked.ts })
    .flatMap((message) => (message.user === workspace.botUser ? [message.text] : []));
}

describe("the Slack API", () => {
  it("posts into the thread with metadata, and finds it again by them", async () => {
    const { ts } = await post(api(), 3);
    const found = await api().replies({ channel, threadTs: asked.ts, oldestTs: asked.ts, appId, requestId, signal });
    expect(found).toEqual([
      { ts: asked.ts, text: `<@${workspace.botUser}> What is a sekisho?`, key: undefined },
      { ts, text, key: { requestId, part: 3 } },
    ]);
  });

  it("finds no key on a post of another app, whatever its metadata say", async () => {
    const { ts } = await post(api(), 3);
    const found = await api().replies({
      channel,
      threadTs: asked.ts,
      oldestTs: ts,
      appId: "AOTHER",
      requestId,
      signal,
    });
    expect(found).toEqual([{ ts, text, key: undefined }]);
  });

  it("reads all pages of a thread, oldest first, each message once", async () => {
    const slack = api();
    const posted: string[] = [];
    for (let part = 0; part < 13; part++) posted.push((await post(slack, part)).ts);
    const found = await slack.replies({ channel, threadTs: asked.ts, oldestTs: asked.ts, appId, requestId, signal });
    expect(found.map(({ ts }) => ts)).toEqual([asked.ts, ...posted]);
    expect(calls.filter((method) => method === "conversations.replies").length).toBe(3);
  });

  it("reads a thread from the oldest message asked for, without the parent that Slack adds", async () => {
    const slack = api();
    const [, second, third] = [await post(slack), await post(slack), await post(slack)];
    const found = await slack.replies({ channel, threadTs: asked.ts, oldestTs: second.ts, appId, requestId, signal });
    expect(found.map(({ ts }) => ts)).toEqual([second.ts, third.ts]);
  });

  it("finds no posts in a thread that does not exist", async () => {
    expect(
      await api().replies({ channel, threadTs: "1.000001", oldestTs: "1.000001", appId, requestId, signal }),
    ).toEqual([]);
  });

  it("edits a post, text and metadata", async () => {
    const slack = api();
    const { ts } = await post(slack);
    await slack.update({ channel, ts, text: "Done.", key: { requestId, part: 1 }, signal });
    const found = await slack.replies({ channel, threadTs: asked.ts, oldestTs: ts, appId, requestId, signal });
    expect(found).toEqual([{ ts, text: "Done.", key: { requestId, part: 1 } }]);
  });

  it("removes a post", async () => {
    const slack = api();
    const { ts } = await post(slack);
    await slack.remove({ channel, ts, requestId, signal });
    expect(answers()).toEqual([]);
  });

  it("adds and removes a reaction, and is content where that was done already", async () => {
    const slack = api();
    const reaction = { channel, ts: asked.ts, name: "eyes", requestId, signal };
    await slack.react({ ...reaction, present: true });
    await slack.react({ ...reaction, present: true });
    expect(standIn.messages()[0]?.reactions).toEqual(["eyes"]);
    await slack.react({ ...reaction, present: false });
    await slack.react({ ...reaction, present: false });
    expect(standIn.messages()[0]?.reactions).toEqual([]);
    expect(lines).toEqual([]);
  });

  it("asks for the token at every call, so that a rotated one is used", async () => {
    const tokens = ["xoxb-old", botToken];
    const slack = api({ token: async () => tokens.shift() ?? "" });
    expect(await failure(post(slack))).toMatchObject({ kind: "gone", slackError: "invalid_auth" });
    await post(slack);
    expect(answers()).toEqual([text]);
  });

  it("talks in the clear to loopback only", () => {
    expect(() => api({ apiUrl: "http://slack.example.com/api/" })).toThrow(/https/);
    expect(() => api({ apiUrl: "https://slack.example.com/api/" })).not.toThrow();
  });
});

describe("what Slack refuses", () => {
  it.each([
    ["is_archived", "gone"],
    ["not_in_channel", "gone"],
    ["token_revoked", "gone"],
    ["msg_too_long", "refused"],
    ["ratelimited", "rate_limited"],
    ["service_unavailable", "unavailable"],
    ["internal_error", "ambiguous"],
    ["an_error_that_slack_adds_tomorrow", "ambiguous"],
    ["constructor", "ambiguous"],
  ])("%s is %s", async (error, kind) => {
    for (let times = 0; times < 3; times++) standIn.inject({ method: "chat.postMessage", type: "error", error });
    expect(await failure(post(api()))).toMatchObject({ kind, slackError: error });
    expect(answers()).toEqual([]);
  });

  it("says that a message is not there to be edited or removed", async () => {
    const place = { channel, ts: "1.000001", signal };
    const key = { requestId, part: 1 };
    expect((await failure(api().update({ ...place, text, key }))).kind).toBe("no_such_message");
    expect((await failure(api().remove({ ...place, requestId }))).kind).toBe("no_such_message");
  });

  it("a person's message cannot be edited", async () => {
    const update = api().update({ channel, ts: asked.ts, text, key: { requestId, part: 1 }, signal });
    expect(await failure(update)).toMatchObject({ kind: "no_such_message", slackError: "cant_update_message" });
  });
});

describe("what goes wrong on the way", () => {
  it("waits as long as Slack asks for, then posts once", async () => {
    standIn.inject({ method: "chat.postMessage", type: "rate_limited", retryAfterSeconds: 2 });
    await post(api());
    expect(waits).toEqual([2000]);
    expect(answers()).toEqual([text]);
  });

  it("leaves it to the caller when Slack asks for more time than a call has", async () => {
    standIn.inject({ method: "chat.postMessage", type: "rate_limited", retryAfterSeconds: 60 });
    expect(await failure(post(api()))).toMatchObject({ kind: "rate_limited", retryAfterMs: 60_000 });
    expect(waits).toEqual([]);
  });

  it("gives up waiting when the caller does", async () => {
    const caller = new AbortController();
    standIn.inject({ method: "chat.postMessage", type: "rate_limited", retryAfterSeconds: 1 });
    const slack = api({ sleep: async () => caller.abort() });
    const call = slack.post({ channel, threadTs: asked.ts, text, key: { requestId, part: 0 }, signal: caller.signal });
    expect((await failure(call)).kind).toBe("rate_limited");
    expect(calls).toEqual([]);
  });

  it.each(["status", "reset", "lost_answer"] as const)("never posts again after a %s", async (type) => {
    standIn.inject({ method: "chat.postMessage", type, status: 500 });
    expect((await failure(post(api()))).kind).toBe("ambiguous");
    expect(waits).toEqual([]);
    expect(answers()).toEqual(type === "lost_answer" ? [text] : []);
  });

  it("calls a post ambiguous that lands after the time-out", async () => {
    standIn.inject({ method: "chat.postMessage", type: "late", delayMs: 300 });
    const landed = Promise.withResolvers<void>();
    standIn.onChange(() => landed.resolve());
    expect((await failure(post(api({ timeoutMs: 50 })))).kind).toBe("ambiguous");
    await landed.promise;
    expect(answers()).toEqual([text]);
  });

  it.each(["status", "reset", "lost_answer"] as const)("reads again after a %s", async (type) => {
    standIn.inject({ method: "conversations.replies", type, status: 500 });
    const found = await api().replies({ channel, threadTs: asked.ts, oldestTs: asked.ts, appId, requestId, signal });
    expect(found.length).toBe(1);
    expect(waits).toEqual([150]);
  });

  it("edits again after a lost answer, since that changes nothing", async () => {
    const slack = api();
    const { ts } = await post(slack);
    standIn.inject({ method: "chat.update", type: "lost_answer" });
    await slack.update({ channel, ts, text: "Done.", key: { requestId, part: 1 }, signal });
    expect(answers()).toEqual(["Done."]);
  });

  it("gives up after three tries", async () => {
    for (let times = 0; times < 5; times++)
      standIn.inject({ method: "conversations.replies", type: "status", status: 503 });
    const call = api().replies({ channel, threadTs: asked.ts, oldestTs: asked.ts, appId, requestId, signal });
    expect((await failure(call)).kind).toBe("ambiguous");
    expect(waits.length).toBe(2);
  });

  it("knows that nothing was sent where nobody listens, or no token was to be had", async () => {
    const gone = await startSlackStandIn({ signingSecret: "s", botToken });
    await gone.close();
    const { apiUrl } = gone;
    expect((await failure(post(api({ apiUrl })))).kind).toBe("unavailable");
    const noToken = api({ apiUrl, token: () => Promise.reject(new Error("no token")) });
    expect((await failure(post(noToken))).kind).toBe("unavailable");
  });

  it("does not wait longer for a token than for an answer, nor when the caller gives up", async () => {
    const token = () => new Promise<string>(() => {});
    expect((await failure(post(api({ token, timeoutMs: 10 })))).kind).toBe("unavailable");
    const caller = new AbortController();
    const call = api({ token }).remove({ channel, ts: asked.ts, requestId, signal: caller.signal });
    caller.abort();
    expect((await failure(call)).kind).toBe("unavailable");
    expect(calls).toEqual([]);
  });

  it.each([
    ["a page of HTML", 200, "text/html", "<html>Bad gateway</html>"],
    ["a truncated answer", 200, "application/json", '{"ok":true,"ts":"1'],
    ["an answer without a ts", 200, "application/json", '{"ok":true}'],
    ["a 429 without Retry-After", 429, "application/json", "{}"],
    ["a redirect", 302, "text/html", ""],
  ])("does not take %s for a post", async (_name, status, type, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { "content-type": type, location: "http://127.0.0.1:1/" }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
    const error = await failure(post(api({ apiUrl })));
    expect(error.kind).toBe(status === 429 ? "rate_limited" : "ambiguous");
    expect(error.slackError).toBeUndefined();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("logs every failed call under the request id of the task that it is made for", async () => {
    const slack = api();
    const { ts } = await post(slack);
    for (const method of ["chat.update", "conversations.replies", "reactions.add", "chat.delete"])
      standIn.inject({ method, type: "status", status: 500 });
    await slack.update({ channel, ts, text: "Done.", key: { requestId, part: 1 }, signal });
    await slack.replies({ channel, threadTs: asked.ts, oldestTs: asked.ts, appId, requestId, signal });
    await slack.react({ channel, ts, name: "eyes", present: true, requestId, signal });
    await slack.remove({ channel, ts, requestId, signal });
    expect(lines.map((line) => JSON.parse(line).request_id)).toEqual(Array(4).fill(requestId));
  });

  it("is asked once more with a newer token where Slack does not take the kept one, also for a post", async () => {
    const tried: string[] = [];
    const rotated = api({
      token: async () => "xoxb-of-yesterday",
      newerToken: async (old) => {
        tried.push(old);
        return botToken;
      },
    });
    const { ts } = await post(rotated);
    expect(answers()).toEqual([text]);
    await rotated.update({ channel, ts, text, key: { requestId, part: 1 }, signal });
    expect(tried).toEqual(["xoxb-of-yesterday", "xoxb-of-yesterday"]);
    expect(lines).toEqual([]);
  });

  it("is not asked again where there is no newer token, or where it cannot be read", async () => {
    const token = async () => "xoxb-of-yesterday";
    for (const newerToken of [async () => undefined, () => Promise.reject(new Error("out of reach"))]) {
      expect(await failure(post(api({ token, newerToken })))).toMatchObject({ kind: "gone" });
    }
    expect(answers()).toEqual([]);
  });

  it("puts neither the token nor a text into logs or errors", async () => {
    for (const type of ["status", "reset", "lost_answer"] as const) {
      standIn.inject({ method: "chat.postMessage", type, status: 500 });
      const error = await failure(post(api()));
      expect(`${error.message} ${error.stack}`).not.toContain(botToken);
    }
    expect(lines.length).toBe(3);
    expect(lines.join("")).toContain(requestId);
    expect(lines.join("")).not.toContain(botToken);
    expect(lines.join("")).not.toContain(text);
  });
});
