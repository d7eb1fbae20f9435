import { createServer } from "node:http";
import { describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { readMessagesPage } from "@sekisho/verification/slack/api/messages.ts";
import { createMetadata } from "@sekisho/verification/slack/api/post-keys.ts";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { listen, serve } from "../../../doubles/serving.ts";
import { appId, failure, requestId, type SlackClient, slackClient, text } from "./slack-client.ts";

const client = slackClient();
const withLargePages = slackClient({ pageSize: 1000 });

function replies(slack: SlackApi, oldestTs?: string) {
  const { common, asked } = client();
  return slack.replies({ ...common, threadTs: asked.ts, oldestTs: oldestTs ?? asked.ts, appId });
}

describe("the messages of a thread", () => {
  it("recognizes a post by its metadata and says who wrote each message", async () => {
    const { api, post, asked, fakeSlack, common } = client();
    const { ts } = await post(api(), 3);
    const other = fakeSlack.postAsOtherBot({
      channel: common.channel,
      threadTs: asked.ts,
      text: "Buy now!",
    });
    const nothing = { key: undefined, fileIds: [] };
    expect(await replies(api())).toEqual([
      {
        ...nothing,
        ts: asked.ts,
        text: `<@${workspace.botUser}> What is a sekisho?`,
        markdown: `@${workspace.botUser} What is a sekisho?`,
        from: "person",
        user: workspace.person,
      },
      {
        ...nothing,
        ts,
        text,
        key: { requestId, kind: "answer", index: 3 },
        from: "self",
        user: workspace.botUser,
      },
      {
        ...nothing,
        ts: other.ts,
        text: "Buy now!",
        from: "other_bot",
        user: other.user,
        name: "Monitoring",
      },
    ]);
  });

  it("ignores the metadata on a post of another app", async () => {
    const { api, post, asked, common } = client();
    const { ts } = await post(api(), 3);
    const foundReplies = await api().replies({
      ...common,
      threadTs: asked.ts,
      oldestTs: ts,
      appId: "AOTHER",
    });
    expect(foundReplies).toEqual([
      expect.objectContaining({ ts, text, key: undefined, from: "other_bot" }),
    ]);
  });

  it("reads all pages of a thread, oldest first, each message once", async () => {
    const { api, post, asked, calls } = client();
    const postedTs: string[] = [];
    for (let index = 0; index < 13; index++) postedTs.push((await post(api(), index)).ts);
    expect((await replies(api())).map(({ ts }) => ts)).toEqual([asked.ts, ...postedTs]);
    expect(calls.filter((method) => method === "conversations.replies").length).toBe(3);
  });

  it("reads from the oldest requested message, without the parent that Slack adds", async () => {
    const { api, post } = client();
    const [, second, third] = [await post(), await post(), await post()];
    expect((await replies(api(), second.ts)).map(({ ts }) => ts)).toEqual([second.ts, third.ts]);
    expect(await replies(api(), "1.000001")).toHaveLength(4);
  });

  it("returns no messages for a thread that does not exist", async () => {
    const { api, common } = client();
    expect(
      await api().replies({ ...common, threadTs: "1.000001", oldestTs: "1.000001", appId }),
    ).toEqual([]);
  });
});

describe("the messages of a channel", () => {
  it("reads the messages outside of threads from the oldest requested one", async () => {
    const { api, post, common, asked, calls } = client();
    await post();
    const postedTs: string[] = [];
    for (let index = 0; index < 7; index++) {
      const key = { requestId, kind: "answer", index } as const;
      postedTs.push(
        (await api().post({ ...common, threadTs: undefined, content: { text }, key })).ts,
      );
    }
    const foundPosts = await api().posts({ ...common, oldestTs: postedTs[1] ?? "", appId });
    expect(foundPosts.map(({ ts }) => ts)).toEqual(postedTs.slice(1));
    expect(foundPosts.map(({ key }) => key?.index)).toEqual([1, 2, 3, 4, 5, 6]);
    expect((await api().posts({ ...common, oldestTs: asked.ts, appId }))[0]?.ts).toBe(asked.ts);
    expect(calls.filter((method) => method === "conversations.history").length).toBeGreaterThan(2);
  });

  it("throws for an unknown channel instead of returning an empty list", async () => {
    const { api, common } = client();
    const call = api().posts({ ...common, channel: "CNOWHERE", oldestTs: "1.000001", appId });
    expect(await failure(call)).toMatchObject({ kind: "gone", slackError: "channel_not_found" });
  });
});

const key = { requestId, kind: "answer", index: 0 } as const;
const ours = { ts: "2.000001", text: "Done.", metadata: createMetadata(key), app_id: appId };
const readText = (page: unknown) => readMessagesPage({ page, appId });
const keysOf = (...messages: object[]) => readText({ messages }).posts.map((post) => post.key);

describe("a page of a thread", () => {
  it("reads the key of each post of the app", () => {
    expect(readText({ messages: [ours], response_metadata: { next_cursor: "n" } })).toEqual({
      posts: [{ ts: "2.000001", text: "Done.", key, from: "self", user: undefined, fileIds: [] }],
      nextCursor: "n",
    });
  });

  it("reads no text from the tombstone of a deleted message", () => {
    const tombstone = {
      ts: "1.1",
      subtype: "tombstone",
      user: "USLACKBOT",
      text: "This message was deleted.",
    };
    expect(readText({ messages: [tombstone] }).posts).toMatchObject([{ ts: "1.1", text: "" }]);
  });

  it("reads all text of a post of another app, and the name of the app", () => {
    const attachments = [
      { color: "danger", title: "DiskFull", fields: [{ title: "host", value: "web-3" }] },
    ];
    const alert = { ts: "1.1", text: "", bot_id: "B2", attachments };
    const posts = [
      { ...alert, username: "Alert\nmanager", bot_profile: { name: "Hooks" } },
      { ...alert, bot_profile: { name: "Hooks" } },
      { ...alert, username: 7 },
    ];
    const markdown = "(danger) DiskFull\nhost: web-3";
    expect(readText({ messages: posts }).posts).toMatchObject([
      { markdown, name: "Alert manager" },
      { markdown, name: "Hooks" },
      { markdown },
    ]);
  });

  it("reads no text from the notices of Slack itself", () => {
    const messages = ["channel_join", "pinned_item", "reminder_add", "huddle_thread"].map(
      (subtype, index) => ({
        ts: `${index + 1}.1`,
        subtype,
        user: "U1",
        text: "<@U1> has joined",
      }),
    );
    for (const post of readText({ messages }).posts)
      expect([post.text, post.markdown]).toEqual(["", undefined]);
  });

  it("reads no key from a post of another app or person, whatever metadata it carries", () => {
    const { app_id: _none, ...person } = ours;
    expect(keysOf({ ...ours, app_id: "A0APP00002" }, person)).toEqual([undefined, undefined]);
  });

  it("finds the app in the profile of the bot if the message does not name it", () => {
    const { app_id: _none, ...nameless } = ours;
    expect(keysOf({ ...nameless, bot_profile: { app_id: appId } })).toEqual([key]);
    expect(keysOf({ ...nameless, bot_profile: { app_id: "A0APP00002" } })).toEqual([undefined]);
  });

  it.each([
    ["of another event", { event_type: "deployed", event_payload: {} }],
    ["without a request id", { event_type: "sekisho_message", event_payload: { part: 1 } }],
    [
      "of an invalid part",
      { event_type: "sekisho_message", event_payload: { request_id: "r", part: "1" } },
    ],
    ["that are a string", "metadata"],
    ["that are null", null],
  ])("keeps the other posts of a page if one has metadata %s", (_what, metadata) => {
    expect(keysOf({ ...ours, metadata }, ours)).toEqual([undefined, key]);
  });

  it.each([
    ["self", { app_id: appId, bot_id: "B1", user: "UBOT" }],
    ["person", { user: "U1" }],
    ["person", { user: "U1", app_id: "A0APP00002", client_msg_id: "through an app" }],
    ["other_bot", { bot_id: "B2", app_id: "A0APP00002", user: "UOTHER" }],
    ["other_bot", { subtype: "bot_message", username: "An old webhook" }],
    ["other_bot", { bot_profile: { app_id: "A0APP00002" } }],
  ])("recognizes %s as the writer of %j", (from, message) => {
    expect(readText({ messages: [{ ts: "1.000001", text: "", ...message }] }).posts[0]?.from).toBe(
      from,
    );
  });

  it("lists file ids and skips malformed files", () => {
    const files = [{ id: "F1" }, { id: 7 }, null, "F2", { id: "F3", mode: "tombstone" }];
    const posts = readText({
      messages: [
        { ...ours, files },
        { ...ours, files: "none" },
      ],
    }).posts;
    expect(posts.map(({ fileIds }) => fileIds)).toEqual([["F1", "F3"], []]);
  });

  it("describes only the files in messages of people", () => {
    const file = {
      id: "F1",
      name: "a.txt",
      mimetype: "text/plain",
      size: 3,
      url_private: "https://files.slack.com/F1",
    };
    const messages = [
      { ts: "1.000001", user: "U1", text: "", files: [file, { id: "F2", mode: "tombstone" }] },
      { ts: "1.000002", user: "U1", text: "" },
      { ...ours, files: [file] },
    ];
    expect(readText({ messages }).posts.map(({ files }) => files)).toEqual([
      [
        {
          id: "F1",
          name: "a.txt",
          mimetype: "text/plain",
          size: 3,
          url: "https://files.slack.com/F1",
        },
        { id: "F2", name: "F2", mimetype: "application/octet-stream", size: 0 },
      ],
      undefined,
      undefined,
    ]);
  });

  it("keeps the other posts of a page if one has no text or an invalid app id", () => {
    expect(keysOf({ ts: "1.000001", text: null, app_id: 7, bot_profile: "none" }, ours)).toEqual([
      undefined,
      key,
    ]);
  });

  it("ends at a page without a cursor", () => {
    for (const end of [{}, { response_metadata: {} }, { response_metadata: { next_cursor: "" } }])
      expect(readText({ messages: [], ...end }).nextCursor).toBe("");
  });

  it.each([
    ["without messages", { ok: true }],
    ["with messages that are not a list", { messages: {} }],
    ["with a message that has no ts", { messages: [ours, { text: "hello" }] }],
    ["with a message that is null", { messages: [ours, null] }],
    ["with an invalid cursor", { messages: [ours], response_metadata: { next_cursor: 2 } }],
  ])("refuses a page %s instead of treating it as empty", (_what, page) => {
    expect(() => readText(page)).toThrow(
      expect.objectContaining({ name: SlackError.name, kind: "ambiguous" }),
    );
  });
});

/** With calls that have time for large pages. */
function patient(): SlackClient {
  const openWorld = withLargePages();
  const api: SlackClient["api"] = (options) => openWorld.api({ timeoutMs: 60_000, ...options });
  return { ...openWorld, api, post: (values = api(), index = 0) => openWorld.post(values, index) };
}

/** The longest text of a message that Slack takes; 120 KB in UTF-8. */
const longText = "関".repeat(40_000);

function limits(): (string | undefined)[] {
  const limitArgs: (string | undefined)[] = [];
  withLargePages().fakeSlack.onCall(({ method, args }) => {
    if (method.startsWith("conversations.")) limitArgs.push(args.limit);
  });
  return limitArgs;
}

/** A Slack whose pages of messages are always larger than what is read. */
async function hugePages(): Promise<{ apiUrl: string; calls: () => number }> {
  let calls = 0;
  const piece = Buffer.alloc(1024 * 1024, " ");
  const server = createServer((request, response) => {
    calls++;
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    for (let pieces = 0; pieces < 17; pieces++) response.write(piece);
    response.end(JSON.stringify({ ok: true, messages: [], ts: "1.000001" }));
  });
  return { apiUrl: `http://127.0.0.1:${await listen(server)}/api/`, calls: () => calls };
}

describe("an oversized page of messages", () => {
  it("reads smaller pages if a page is too large, and continues at its cursor", async () => {
    const { api, post, asked, fakeSlack, common, waits } = patient();
    const first = await post(api(), 0);
    for (let posts = 0; posts < 220; posts++) {
      fakeSlack.postAsOtherBot({
        channel: common.channel,
        threadTs: asked.ts,
        text: posts < 200 ? "short" : longText,
      });
    }
    for (let posts = 0; posts < 160; posts++) {
      fakeSlack.postAsOtherBot({ channel: common.channel, threadTs: asked.ts, text: longText });
    }
    const last = await post(api(), 1);
    const seenLimits = limits();
    const foundReplies = await api().replies({
      ...common,
      threadTs: asked.ts,
      oldestTs: asked.ts,
      appId,
    });
    expect(foundReplies.length).toBe(383);
    expect(foundReplies.flatMap(({ ts, key }) => (key === undefined ? [] : [ts]))).toEqual([
      first.ts,
      last.ts,
    ]);
    expect(seenLimits).toEqual(["200", "200", "50", "50", "50", "50"]);
    expect(waits).toEqual([]);
  });

  it("reads smaller pages of a channel too", async () => {
    const { api, fakeSlack, common, asked } = patient();
    for (let posts = 0; posts < 150; posts++)
      fakeSlack.postAsOtherBot({ channel: common.channel, text: longText });
    const key = { requestId, kind: "placeholder", index: 0 } as const;
    const { ts } = await api().post({ ...common, threadTs: undefined, content: { text }, key });
    const seenLimits = limits();
    const foundPosts = await api().posts({ ...common, oldestTs: asked.ts, appId });
    expect(foundPosts.length).toBe(152);
    expect(foundPosts.at(-1)).toMatchObject({ ts, key });
    expect(seenLimits.slice(0, 2)).toEqual(["200", "50"]);
  });

  it("refuses messages if even a page of one is too large", async () => {
    const { apiUrl, calls } = await hugePages();
    const { api, common, asked, waits } = patient();
    const huge = api({ apiUrl });
    const place = { ...common, oldestTs: asked.ts, appId };
    expect((await failure(huge.replies({ ...place, threadTs: asked.ts }))).kind).toBe("refused");
    expect(calls()).toBe(4);
    expect((await failure(huge.posts(place))).kind).toBe("refused");
    expect(waits).toEqual([]);
  });

  it("refuses pages that never end", async () => {
    const { api, common, asked } = patient();
    const page = { ok: true, messages: [], response_metadata: { next_cursor: "again" } };
    const { url } = await serve(() => Response.json(page));
    const call = api({ apiUrl: `${url}/api/` }).posts({ ...common, oldestTs: asked.ts, appId });
    expect((await failure(call)).kind).toBe("refused");
  });
});

describe("a post with an oversized response", () => {
  it("does not repeat a post whose answer is too large, because it may have landed", async () => {
    const { apiUrl, calls } = await hugePages();
    const { api, post } = patient();
    expect(await failure(post(api({ apiUrl })))).toMatchObject({
      kind: "ambiguous",
      tooLarge: true,
    });
    expect(calls()).toBe(1);
  });
});

describe("a single message", () => {
  it("reads a message with its files, in or outside of a thread, and nothing if it is gone", async () => {
    const { api, asked, fakeSlack, common } = client();
    const readValue = (ts: string, threadTs?: string) => api().message({ ...common, ts, threadTs });
    expect(await readValue(asked.ts)).toEqual({
      text: `@${workspace.botUser} What is a sekisho?`,
      files: [],
    });
    const files = [{ name: "a.csv", mimetype: "text/csv", bytes: new Uint8Array(3) }];
    const { apiUrl: eventsUrl } = fakeSlack;
    for (let replies = 0; replies < 7; replies++)
      fakeSlack.reply({ eventsUrl, text: "more", threadTs: asked.ts });
    const { ts } = fakeSlack.reply({ eventsUrl, text: "a < b", threadTs: asked.ts, files }).message;
    expect(await readValue(ts, asked.ts)).toMatchObject({
      text: "a < b",
      files: [{ name: "a.csv", size: 3 }],
    });
    fakeSlack.remove({ eventsUrl, channel: common.channel, ts });
    expect(await readValue(ts, asked.ts)).toBeUndefined();
    // Its place stays, because it has replies.
    fakeSlack.remove({ eventsUrl, channel: common.channel, ts: asked.ts });
    expect(await readValue(asked.ts)).toBeUndefined();
    expect(await readValue("1.000001")).toBeUndefined();
    const elsewhere = api().message({
      ...common,
      channel: "CWITHOUT",
      ts: "1.1",
      threadTs: undefined,
    });
    expect((await failure(elsewhere)).kind).toBe("gone");
  });

  it("cuts a single message that is longer than a text may be", async () => {
    const blocks = Array.from({ length: 20 }, () => ({
      type: "section",
      text: { type: "mrkdwn", text: "x".repeat(3000) },
    }));
    const messages = [{ ts: "1.1", text: "", bot_id: "B2", blocks }];
    const { url } = await serve(() => Response.json({ ok: true, messages }));
    const { api, common } = client();
    const readMessage = await api({ apiUrl: `${url}/api/` }).message({
      ...common,
      ts: "1.1",
      threadTs: undefined,
    });
    expect(readMessage?.text).toHaveLength(40_000);
    expect(readMessage?.text).toMatch(/…\(cut\)$/);
  });

  it("reads the text of the attachments if a message has no text of its own", async () => {
    const attachments = [
      { pretext: "Alert", title: "Disk", text: "95 %", fallback: "x" },
      { fallback: "Look &amp; see" },
    ];
    const messages = [{ ts: "1.1", text: "", attachments }];
    const { url } = await serve(() => Response.json({ ok: true, messages }));
    const { api, common } = client();
    const reading = api({ apiUrl: `${url}/api/` }).message({
      ...common,
      ts: "1.1",
      threadTs: undefined,
    });
    expect(await reading).toEqual({ text: "Alert\nDisk\n95 %\n\nLook & see", files: [] });
  });
});

describe("forwarded messages that are switched off", () => {
  it("leaves out forwarded messages in threads and single messages if they are off", async () => {
    const { fakeSlack, api, common } = client();
    const { ts } = fakeSlack.ask({
      eventsUrl: fakeSlack.apiUrl,
      text: "Look",
      attachments: [{ is_share: true, text: "The backup failed", author_name: "robin" }],
    }).message;
    const textsOf = async (slack: ReturnType<typeof api>) => {
      const [post] = await slack.replies({ ...common, threadTs: ts, oldestTs: ts, appId });
      const message = await slack.message({ ...common, ts, threadTs: undefined });
      return [post?.markdown ?? post?.text, message?.text].map((each) =>
        each?.includes("The backup failed"),
      );
    };
    expect(await textsOf(api())).toEqual([true, true]);
    expect(await textsOf(api({ forwards: false }))).toEqual([false, false]);
  });
});
