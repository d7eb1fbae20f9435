import { createServer } from "node:http";
import { createServer as createSocketServer, type Socket } from "node:net";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { HttpError } from "@sekisho/runtime/http/client.ts";
import type { SlackCall } from "@sekisho/verification/slack/api/call.ts";
import { createFileCalls } from "@sekisho/verification/slack/api/files.ts";
import { createLookupCalls } from "@sekisho/verification/slack/api/lookups.ts";
import { createMessageReads } from "@sekisho/verification/slack/api/messages.ts";
import {
  createAssistant,
  createPosts,
  createStreams,
} from "@sekisho/verification/slack/api/posts.ts";
import type { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { callWebApi, encodeForm, toSlackError } from "@sekisho/verification/slack/api/web-call.ts";
import { type Logger, WebClient } from "@slack/web-api";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { withGrowingLimit } from "../../../doubles/growing-limit.ts";
import { listen, serve } from "../../../doubles/serving.ts";
import { failure } from "./slack-client.ts";

const token = "xoxb-token";
const { signal } = new AbortController();

function call(apiUrl: string, args: Partial<Parameters<typeof callWebApi>[0]> = {}) {
  return callWebApi({
    ...{
      token: async () => token,
      apiUrl,
      method: "chat.postMessage",
      args: {},
      timeoutMs: 25_000,
      signal,
    },
    ...args,
  });
}

function kindOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "ok",
    ({ name, kind }: SlackError) => (name === "SlackError" ? kind : name),
  );
}

type Sent = { url: string; headers: Headers; body: string };
type Args = Record<string, unknown>;

const nothing = () => {};
const silent: Logger = {
  ...{
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: nothing,
    setLevel: nothing,
    setName: nothing,
  },
  getLevel: () => "error" as ReturnType<Logger["getLevel"]>,
};

/** What Slack's own client sends. */
async function sentBySdk(method: string, args: Args): Promise<Sent> {
  const sending = Promise.withResolvers<Sent>();
  const client = new WebClient(token, {
    slackApiUrl: "https://slack.com/api/",
    logger: silent,
    retryConfig: { retries: 0 },
    async fetch(url, { headers, body } = {}) {
      sending.resolve({ url: String(url), headers: new Headers(headers), body: String(body) });
      return Response.json({ ok: true });
    },
  });
  await client.apiCall(method, args);
  return sending.promise;
}

/** Every call that the adapter makes, with arguments of every kind that it uses. */
async function callsOfTheAdapter(): Promise<{ method: string; args: Args }[]> {
  const requests: { method: string; args: Args }[] = [];
  const answer = {
    ok: true,
    ts: "1.000001",
    channel: { id: "C1" },
    user: {},
    users: [],
    messages: [],
    members: [],
  };
  const call: SlackCall = async ({ method, args }) => {
    requests.push({ method, args });
    return { ...answer, file_id: "F1", upload_url: "https://files.slack.com/upload" };
  };
  const installation = { team: "T1", enterprise: "E1" };
  const common = { installation, signal, requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d" };
  const at = { ...common, channel: "C1" };
  const key = { requestId: common.requestId, kind: "answer", index: 2 } as const;
  const text = "Grüße, 関所 🏯 – 100 % \"sure\" & 'safe'?\n*b* `c` <@U1|x> +~()!";
  const blocks = [
    {
      type: "section",
      text: { type: "mrkdwn", text },
      accessory: { a: null, b: true, c: [1.5, -0] },
    },
  ];
  const posts = createPosts(call);
  for (const content of [{ text }, { text: "", blocks }]) {
    for (const threadTs of [undefined, "1.000001"])
      await posts.post({ ...at, threadTs, content, key });
    await posts.update({ ...at, ts: "1.000001", content, key });
  }
  await posts.remove({ ...at, ts: "1.000001" });
  for (const present of [true, false])
    await posts.react({ ...at, ts: "1.000001", name: "eyes", present });
  await posts.postEphemeral({ ...at, threadTs: "1.000001", user: "U1", text });
  const streams = createStreams(call);
  await streams.startStream({
    ...at,
    threadTs: "1.000001",
    user: "U1",
    team: "T1",
    markdown: text,
  });
  await streams.appendStream({ ...at, ts: "1.000001", markdown: text });
  await streams.stopStream({ ...at, ts: "1.000001" });
  const reads = createMessageReads(call);
  await reads.replies({ ...at, threadTs: "1.000001", oldestTs: "1.000001", appId: "A1" });
  await reads.posts({ ...at, oldestTs: "1.000001", appId: "A1" });
  const lookups = createLookupCalls(call);
  await lookups.openDirect({ ...common, user: "U1" });
  await lookups.person({ ...common, user: "U1" });
  await lookups.groupMembers({ ...common, group: "S1" });
  await lookups.channelMembers({ ...at });
  const files = createFileCalls({
    call,
    repeating: ({ exchange }) => exchange(),
    apiUrl: "",
    uploadTimeoutMs: 1,
  });
  await files.startUpload({ ...common, name: "関 所.csv", length: 12_345 });
  await files.shareUploads({
    ...at,
    threadTs: "1.000001",
    files: [{ fileId: "F1", title: "関 所.csv" }],
  });
  const assistant = createAssistant(call);
  await assistant.setStatus({ ...at, threadTs: "1.000001", status: "" });
  await assistant.suggestPrompts({ ...at, prompts: [{ title: text, message: text }] });
  return [
    ...requests,
    { method: "auth.test", args: {} },
    { method: "apps.connections.open", args: {} },
  ];
}

const argument = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.double(),
  fc.boolean(),
  fc.jsonValue(),
  fc.constantFrom(undefined, null, new Date(0), { toJSON: () => undefined }, [undefined], nothing),
);
const names = fc.constantFrom(
  "channel",
  "text",
  "blocks",
  "team_id",
  "limit",
  "metadata",
  "a b",
  "ä",
);

describe("a call of the Web API", () => {
  it("sends the same bytes as the client of Slack for each method and its arguments", async () => {
    const { url, received: requests } = await serve(() => Response.json({ ok: true }));
    const calls = await callsOfTheAdapter();
    expect(new Set(calls.map(({ method }) => method)).size).toBe(21);
    for (const { method, args } of calls) {
      await call(`${url}/api/`, { method, args });
      const sdk = await sentBySdk(method, args);
      const { request, body } = requests.splice(0)[0] ?? {};
      expect(Buffer.from(body ?? []).toString()).toBe(sdk.body);
      expect(request?.method).toBe("POST");
      expect(new URL(request?.url ?? "").pathname).toBe(new URL(sdk.url).pathname);
      for (const name of ["authorization", "content-type", "accept"]) {
        expect(request?.headers.get(name)).toBe(sdk.headers.get(name));
      }
    }
  });

  it("encodes any arguments as the client of Slack does", async () => {
    await forAll(fc.dictionary(names, argument)).holdAsync(async (args) => {
      expect(encodeForm(args)).toBe((await sentBySdk("chat.postMessage", args)).body);
    });
  });

  it("replaces half a character by U+FFFD in texts at every depth", () => {
    const half = "😀".slice(0, 1);
    const args = { text: `a${half}`, blocks: [{ text: [`${half}b`, "\\ud83d", "😀"] }] };
    const whole = { text: "a\ufffd", blocks: [{ text: ["\ufffdb", "\\ud83d", "😀"] }] };
    expect(encodeForm(args)).toBe(encodeForm(whole));
  });

  it("refuses arguments that cannot be encoded before the send", async () => {
    const { url, received: requests } = await serve(() => Response.json({ ok: true }));
    const circle: Args = {};
    circle.self = circle;
    let deep: unknown = "deep";
    for (let depth = 0; depth < 20_000; depth++) deep = [deep];
    for (const args of [{ circle }, { big: 1n }, { deep }])
      expect(await kindOf(call(url, { args }))).toBe("refused");
    expect(requests).toEqual([]);
  });

  it.each(["", "xoxb token", "xoxb-\r\nx: y", "xoxb-é"])(
    "sends nothing with the token %j, which is invalid in a header",
    async (values) => {
      const { url, received: requests } = await serve(() => Response.json({ ok: true }));
      const pendingCall = call(url, { token: async () => values });
      await expect(pendingCall).rejects.toMatchObject({ kind: "gone", slackError: "invalid_auth" });
      expect(requests).toEqual([]);
    },
  );

  it("returns the answer with the scopes of its header", async () => {
    const answer = { ok: true, response_metadata: { next_cursor: "n" } };
    const { url } = await serve(() =>
      Response.json(answer, { headers: { "x-oauth-scopes": "chat:write,  users:read" } }),
    );
    expect(await call(url)).toEqual({
      ok: true,
      response_metadata: { next_cursor: "n", scopes: ["chat:write", "users:read"] },
    });
  });

  it.each([
    ["7", 7000],
    ["0", 0],
    ["soon", 30_000],
    ["-1", 30_000],
    [undefined, 30_000],
  ])(
    "reads the Retry-After header %s, or else waits half a minute",
    async (header, retryAfterMs) => {
      const headers = header === undefined ? {} : { "retry-after": header };
      const { url } = await serve(() => new Response("{}", { status: 429, headers }));
      await expect(call(url)).rejects.toMatchObject({ kind: "rate_limited", retryAfterMs });
    },
  );

  it.each([
    [204, "unavailable"],
    [302, "ambiguous"],
    [400, "unavailable"],
    [404, "unavailable"],
    [500, "ambiguous"],
    [503, "ambiguous"],
  ])("reports the status %i as %s", async (status, kind) => {
    const elsewhere = await serve(() => Response.json({ ok: true }));
    const { url } = await serve(
      () => new Response(null, { status, headers: { location: elsewhere.url } }),
    );
    expect(await kindOf(call(url))).toBe(kind);
    expect(elsewhere.received).toEqual([]);
  });

  it.each([
    "[]",
    "null",
    "7",
    '"ok"',
    "",
    '{"ok":false}',
    '{"ok":false,"error":7}',
    '{"ok":false,"error":"Not A Name"}',
  ])("reports the answer %s as ambiguous and does not repeat it in the error", async (body) => {
    const { url } = await serve(() => new Response(body));
    const error = await failure(call(url));
    expect([error.kind, error.slackError, error.cause]).toEqual([
      "ambiguous",
      undefined,
      undefined,
    ]);
  });
});

/** What a call comes to at a server that does with its connections as it likes. */
async function callOf({
  scheme,
  serve,
}: {
  scheme: "http" | "https";
  serve: (socket: Socket) => void;
}) {
  const server = createSocketServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => serve(socket));
  });
  return kindOf(call(`${scheme}://127.0.0.1:${await listen(server)}/api/`));
}

describe("a call whose connection fails", () => {
  it.each<[string, (socket: Socket) => void]>([
    [
      "the other side does not speak TLS",
      (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    ],
    // A fatal alert, handshake_failure (RFC 8446, section 6).
    ["the other side refuses TLS", (socket) => socket.end(Buffer.from("15030300020228", "hex"))],
    ["the other side closes the connection in the handshake", (socket) => socket.destroy()],
  ])("reports a call as not made if %s", async (_what, serve) => {
    expect(await callOf({ scheme: "https", serve })).toBe("unavailable");
  });

  it.each<[string, (socket: Socket) => void]>([
    ["closes the connection during the request", (socket) => socket.destroy()],
    ["does not speak HTTP", (socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")],
  ])("reports a call as ambiguous if the other side %s", async (_what, serve) => {
    expect(await callOf({ scheme: "http", serve })).toBe("ambiguous");
  });

  it.each(["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ECONNRESET"])(
    "classifies %s by whether the call was sent, because it can occur before or after",
    (code) => {
      const cause = Object.assign(new Error("on a connection"), { code });
      expect(toSlackError(new HttpError("ambiguous", { cause })).kind).toBe("ambiguous");
      expect(toSlackError(new HttpError("unsent", { cause })).kind).toBe("unavailable");
    },
  );
});

describe("the time of a call", () => {
  afterEach(() => void jest.restoreAllMocks());

  it("ends a call whose body stalls", async () => {
    let requestCount = 0;
    const server = createServer((_request, response) => {
      requestCount += 1;
      response.write('{"ok":');
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const kind = await withGrowingLimit({
      firstMs: 100,
      attempt: (timeoutMs) => kindOf(call(url, { timeoutMs })),
      isFair: () => requestCount > 0,
    });
    expect(kind).toBe("ambiguous");
  });

  it("clears the timer of a call after success and failure", async () => {
    const { url } = await serve(({ target }) => Response.json({ ok: target === "/good" }));
    const set = jest.spyOn(globalThis, "setTimeout");
    const clearSpy = jest.spyOn(globalThis, "clearTimeout");
    expect(await kindOf(call(url, { method: "good", timeoutMs: 123_456 }))).toBe("ok");
    expect(await kindOf(call(url, { method: "bad", timeoutMs: 123_456 }))).toBe("ambiguous");
    const timers = set.mock.results.filter(
      (_timer, index) => set.mock.calls[index]?.[1] === 123_456,
    );
    expect(timers).toHaveLength(2);
    expect(clearSpy.mock.calls.flat()).toEqual(
      expect.arrayContaining(timers.map(({ value }) => value)),
    );
  });
});
