import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "../../lib/local/fake-slack/fake-slack.ts";
import { organization, workspace } from "../../lib/local/fake-slack/workspace.ts";

const botToken = "xoxb-of-the-workspace";
const otherTokens = { second: "xoxb-of-the-second", organization: "xoxb-of-the-organization" };
const channel = workspace.channel.id;

let fakeSlack: FakeSlack;
let asked: { ts: string };
let nowMs: number;

beforeEach(() => start());
afterEach(() => fakeSlack.close());

async function start(options: Partial<Parameters<typeof startFakeSlack>[0]> = {}): Promise<void> {
  await fakeSlack?.close();
  nowMs = 1_790_000_000_000;
  const now = () => nowMs;
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, otherTokens, pageSize: 2, now, ...options });
  asked = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hello" }).message;
}

type Answer = { ok: boolean; error?: string; ts?: string; [field: string]: unknown };

async function call(method: string, args: Record<string, unknown> = {}, token = botToken): Promise<Answer> {
  const flat = Object.entries(args).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const response = await fetch(`${fakeSlack.apiUrl}${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams(Object.fromEntries(flat)),
  });
  return (await response.json()) as Answer;
}

function post(args: Record<string, unknown>) {
  return call("chat.postMessage", { channel, thread_ts: asked.ts, text: "hi", ...args });
}

const button = { type: "button", text: { type: "plain_text", text: "Cancel" }, action_id: "a", value: "v" };
const section = { type: "section", text: { type: "mrkdwn", text: "x" } };

describe("blocks are taken as Slack takes them", () => {
  it.each([
    ["markdown up to its limit", [{ type: "markdown", text: "x".repeat(12_000) }]],
    ["a section with buttons below", [section, { type: "actions", elements: [button] }]],
    ["a context line", [{ type: "context", elements: [{ type: "mrkdwn", text: "Request 1234" }] }]],
    ["fifty of them", Array.from({ length: 50 }, () => ({ type: "divider" }))],
  ])("%s", async (_name, blocks) => {
    const { ok, ts = "" } = await post({ blocks });
    expect(ok).toBe(true);
    const stored = fakeSlack.messages().find((message) => message.ts === ts)?.blocks;
    expect(stored).toEqual(blocks);
  });

  it.each([
    ["more markdown than a message holds", [1, 2].map(() => ({ type: "markdown", text: "x".repeat(6001) }))],
    ["a section that is too long", [{ type: "section", text: { type: "mrkdwn", text: "x".repeat(3001) } }]],
    ["an empty text", [{ type: "markdown", text: "" }]],
    ["a long label", [{ type: "actions", elements: [{ ...button, text: { ...button.text, text: "x".repeat(76) } }] }]],
    ["a long value", [{ type: "actions", elements: [{ ...button, value: "x".repeat(2001) }] }]],
    ["a style of its own", [{ type: "actions", elements: [{ ...button, style: "warning" }] }]],
    ["two buttons of one action", [{ type: "actions", elements: [button, button] }]],
    ["no buttons", [{ type: "actions", elements: [] }]],
    ["fifty-one", Array.from({ length: 51 }, () => ({ type: "divider" }))],
    ["an unknown kind", [{ type: "carousel" }]],
    ["an unknown field", [{ ...section, colour: "red" }]],
    ["what is no list", "{"],
  ])("%s: invalid_blocks", async (_name, blocks) => {
    expect(await post({ blocks })).toMatchObject({ ok: false, error: "invalid_blocks" });
  });

  it("not markdown, where it is told to refuse that", async () => {
    await start({ refusesMarkdown: true });
    expect((await post({ blocks: [{ type: "markdown", text: "x" }] })).error).toBe("invalid_blocks");
    expect((await post({ blocks: [section] })).ok).toBe(true);
  });

  it("a text without blocks takes their place in an edit", async () => {
    const { ts = "" } = await post({ blocks: [section] });
    const blocksOf = () => fakeSlack.messages().find((message) => message.ts === ts)?.blocks;
    await call("chat.update", { channel, ts, text: "new", blocks: [section, section] });
    expect(blocksOf()?.length).toBe(2);
    await call("chat.update", { channel, ts, text: "newer" });
    expect(blocksOf()).toBeUndefined();
  });
});

describe("previews of addresses", () => {
  it.each([
    [{}, [{ from_url: "https://a.example/page" }]],
    [{ unfurl_links: "false" }, [{ from_url: "https://a.example/page" }]],
    [{ unfurl_links: "false", unfurl_media: "false" }, undefined],
  ])("come unless a call wants none: %j", async (args, attachments) => {
    const { message } = await post({ text: "See https://a.example/page", ...args });
    expect(Object(message).attachments).toEqual(attachments);
  });
});

describe("a stream", () => {
  const recipient = { recipient_user_id: workspace.person, recipient_team_id: workspace.team };
  const started = () => call("chat.startStream", { channel, thread_ts: asked.ts, markdown_text: "one", ...recipient });

  it("grows piece by piece until it is stopped, and is a message like any other afterwards", async () => {
    const { ts = "" } = await started();
    expect((await call("chat.update", { channel, ts, text: "x" })).error).toBe("streaming_state_conflict");
    expect((await call("chat.delete", { channel, ts })).error).toBe("cant_delete_message");
    await call("chat.appendStream", { channel, ts, markdown_text: ", two" });
    const metadata = { event_type: "a", event_payload: { b: 1 } };
    expect((await call("chat.stopStream", { channel, ts, metadata })).ok).toBe(true);
    expect(fakeSlack.messages().find((message) => message.ts === ts)).toMatchObject({
      text: "one, two",
      blocks: [{ type: "markdown", text: "one, two" }],
      metadata,
      stream: { state: "closed" },
    });
    expect((await call("chat.stopStream", { channel, ts })).error).toBe("message_not_in_streaming_state");
    expect((await call("chat.update", { channel, ts, text: "x" })).ok).toBe(true);
  });

  it("is ended by Slack after its time, whether somebody writes to it or not", async () => {
    await start({ streamLifeMs: 1000 });
    const { ts = "" } = await started();
    nowMs += 999;
    expect((await call("chat.appendStream", { channel, ts, markdown_text: "!" })).ok).toBe(true);
    nowMs += 1;
    for (const method of ["chat.appendStream", "chat.stopStream"]) {
      const error = "message_not_in_streaming_state";
      expect((await call(method, { channel, ts, markdown_text: "!" })).error).toBe(error);
    }
    expect((await call("chat.update", { channel, ts, text: "x" })).ok).toBe(true);
  });

  it.each([
    ["without a recipient", { recipient_user_id: "" }, "missing_recipient_user_id"],
    ["without the recipient's team", { recipient_team_id: "" }, "missing_recipient_team_id"],
    ["without a thread", { thread_ts: "1.000001" }, "invalid_thread_ts"],
    ["with too much at once", { markdown_text: "x".repeat(12_001) }, "msg_too_long"],
    ["in a channel that it does not see", { channel: "CSECOND" }, "channel_not_found"],
  ])("does not start %s", async (_name, change, error) => {
    const args = { channel, thread_ts: asked.ts, markdown_text: "one", ...recipient, ...change };
    expect((await call("chat.startStream", args)).error).toBe(error);
  });
});

describe("installations", () => {
  it("see their own workspace's channels, and an organization those of all of its workspaces", async () => {
    const sees = async (token: string) => {
      const places = [channel, "CSECOND", "CGRID", "CGRIDTWO"];
      const answers = await Promise.all(
        places.map((place) => call("conversations.history", { channel: place }, token)),
      );
      return places.filter((_place, index) => answers[index]?.ok);
    };
    expect(await sees(botToken)).toEqual([channel]);
    expect(await sees(otherTokens.second)).toEqual(["CSECOND"]);
    expect(await sees(otherTokens.organization)).toEqual(["CGRID", "CGRIDTWO"]);
  });

  it("have a bot of their own, and only its messages are theirs", async () => {
    const { ts } = await call("chat.postMessage", { channel: "CSECOND", text: "hi" }, otherTokens.second);
    expect(fakeSlack.messages().at(-1)).toMatchObject({ ts, user: "UBOTSECOND" });
    const identity = await call("auth.test", {}, otherTokens.organization);
    expect(identity).toMatchObject({ team_id: organization.id, is_enterprise_install: true });
  });

  it("of an organization say of which workspace they speak, where it is one of theirs", async () => {
    const usergroup = "SGRID";
    const list = (args: object) => call("usergroups.users.list", { usergroup, ...args }, otherTokens.organization);
    expect((await list({})).error).toBe("missing_argument");
    expect((await list({ team_id: workspace.team })).error).toBe("team_access_not_granted");
    expect(await list({ team_id: "TGRID" })).toEqual({ ok: true, users: ["UGRID"] });
  });

  it("come from a code and the app's secret, and end when the app is uninstalled", async () => {
    await start({ install: { clientId: "1.2", clientSecret: "shh" } });
    const { code } = fakeSlack.authorize({ enterprise: organization.id });
    const access = (args: object) => call("oauth.v2.access", { client_id: "1.2", client_secret: "shh", code, ...args });
    expect((await access({ client_secret: "guess" })).error).toBe("bad_client_secret");
    expect((await access({ client_id: "3.4" })).error).toBe("invalid_client_id");
    const { access_token: token, ...rest } = await access({});
    expect(rest).toMatchObject({
      ok: true,
      team: null,
      enterprise: { id: organization.id },
      is_enterprise_install: true,
    });
    expect((await access({})).error).toBe("invalid_code");
    expect((await call("auth.test", {}, String(token))).ok).toBe(true);
    fakeSlack.uninstall({ enterprise: organization.id });
    expect((await call("auth.test", {}, String(token))).error).toBe("account_inactive");
  });
});

describe("people", () => {
  it.each([
    ["UHANAKO", { ok: true, user: { locale: "ja-JP", team_id: workspace.team } }],
    ["UOUTSIDER", { ok: true, user: { locale: "en-GB", team_id: "TSECOND", is_stranger: true } }],
    ["UGRID", { ok: false, error: "user_not_visible" }],
    ["UNOBODY", { ok: false, error: "user_not_found" }],
  ])("%s, as the first workspace sees them", async (user, expected) => {
    expect(await call("users.info", { user, include_locale: "true" })).toMatchObject(expected);
  });

  it("have a locale only for whoever asks for it, groups, and one conversation with the bot each", async () => {
    expect((await call("users.info", { user: "UHANAKO" })).user).not.toHaveProperty("locale");
    expect((await call("usergroups.users.list", { usergroup: "SDEPLOYERS" })).users).toEqual(["UHANAKO"]);
    expect((await call("usergroups.users.list", { usergroup: "SGRID" })).error).toBe("no_such_subteam");
    expect((await call("conversations.open", { users: "UHANAKO" })).channel).toEqual({ id: "DHANAKO" });
    expect((await call("conversations.open", { users: "UNOBODY" })).error).toBe("user_not_found");
    expect((await call("conversations.open", {})).error).toBe("users_list_not_supplied");
  });

  it("are whispered to where they are, and in no history", async () => {
    const post = (user: string) => call("chat.postEphemeral", { channel, user, text: "psst" });
    expect((await post("UOUTSIDER")).error).toBe("user_not_in_channel");
    expect((await post(workspace.person)).ok).toBe(true);
    expect(fakeSlack.ephemeralMessages()).toMatchObject([{ channel, user: workspace.person, text: "psst" }]);
    expect(fakeSlack.messages().length).toBe(1);
  });
});

describe("the assistant's thread", () => {
  it("shows a status until the bot posts, and prompts", async () => {
    const place = { channel_id: channel, thread_ts: asked.ts };
    const prompts = [{ title: "Hello", message: "What can you do?" }];
    await call("assistant.threads.setSuggestedPrompts", { ...place, prompts });
    await call("assistant.threads.setStatus", { ...place, status: "is thinking" });
    expect(fakeSlack.statuses()).toEqual([{ channel, threadTs: asked.ts, status: "is thinking" }]);
    await post({});
    expect(fakeSlack.statuses()).toEqual([]);
    expect(fakeSlack.prompts()).toEqual([{ channel, threadTs: asked.ts, prompts }]);
    const nowhere = { ...place, thread_ts: "1.000001", status: "x" };
    expect((await call("assistant.threads.setStatus", nowhere)).error).toBe("invalid_thread_ts");
  });
});

describe("a channel's history", () => {
  it("has the newest first, without replies, and tells the bots apart", async () => {
    await post({});
    fakeSlack.postAsOtherBot({ channel, text: "from elsewhere" });
    const { ts: own } = await call("chat.postMessage", { channel, text: "from us" });
    const first = await call("conversations.history", { channel });
    const messages = first.messages as { ts: string; app_id?: string }[];
    expect(messages.map(({ app_id }) => app_id)).toEqual([workspace.app, "AOTHERBOT"]);
    const { next_cursor: cursor } = first.response_metadata as { next_cursor: string };
    const second = await call("conversations.history", { channel, cursor });
    expect((second.messages as { ts: string }[]).map(({ ts }) => ts)).toEqual([asked.ts]);
    const since = await call("conversations.history", { channel, oldest: own ?? "", inclusive: "true" });
    expect((since.messages as unknown[]).length).toBe(1);
  });
});
