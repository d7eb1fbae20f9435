/** The fake Slack is at least as strict as Slack. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import type { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { callsPerMinute, methodRows } from "@sekisho/local/fake-slack/methods/table.ts";
import { organization, workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { botScopes } from "@sekisho/verification/slack/api/manifest.ts";
import { botToken, type CalledSlack, channel, startCalledSlack } from "./web-api.ts";

const otherTokens = { second: "xoxb-of-the-second", organization: "xoxb-of-the-organization" };
const startMs = 1_790_000_000_000;
let slack: CalledSlack;
let nowMs: number;
const call: CalledSlack["call"] = (...request) => slack.call(...request);
const post: CalledSlack["post"] = (args) => slack.post(args);
beforeEach(() => start());
afterEach(() => slack.fakeSlack.close());

async function start(options: Partial<Parameters<typeof startFakeSlack>[0]> = {}): Promise<void> {
  await slack?.fakeSlack.close();
  nowMs = startMs;
  slack = await startCalledSlack({ otherTokens, pageSize: 2, now: () => nowMs, ...options });
}

function stored(ts: unknown) {
  return slack.fakeSlack.messages().find((message) => message.ts === ts);
}

describe("a call", () => {
  it("requires a valid token", async () => {
    expect((await call("auth.test", {}, "xoxb-another")).error).toBe("invalid_auth");
    const unsigned = await fetch(`${slack.fakeSlack.apiUrl}auth.test`, { method: "POST" });
    expect(await unsigned.json()).toEqual({ ok: false, error: "not_authed" });
    expect(await call("auth.test")).toMatchObject({
      ok: true,
      team_id: workspace.team,
      user_id: workspace.botUser,
    });
  });

  it("refuses an unknown method and a body that is not a form", async () => {
    for (const name of ["chat.postEverywhere", "constructor"])
      expect((await call(name)).error).toBe("unknown_method");
    const { apiUrl } = slack.fakeSlack;
    const headers = { authorization: `Bearer ${botToken}`, "content-type": "text/plain" };
    const text = await fetch(`${apiUrl}auth.test`, { method: "POST", headers, body: "" });
    expect(await text.json()).toEqual({ ok: false, error: "invalid_form_data" });
    expect((await fetch(`${apiUrl}auth.test`)).status).toBe(404);
  });

  it("requires only one of the scopes of a method", async () => {
    await start({ scopes: ["chat:write", "im:history"] });
    expect((await post()).ok).toBe(true);
    expect((await call("conversations.history", { channel })).ok).toBe(true);
  });

  it("limits the rate of a method for one token until the minute is over", async () => {
    await start({ limitsRates: true });
    const args = { channel, timestamp: slack.asked, name: "eyes" };
    for (let n = 0; n < callsPerMinute.tier2; n++)
      expect((await call("reactions.remove", args)).error).toBe("no_reaction");
    nowMs += 1000;
    const headers = { authorization: `Bearer ${botToken}` };
    const refusal = await fetch(`${slack.fakeSlack.apiUrl}reactions.remove`, {
      method: "POST",
      headers,
    });
    expect([refusal.status, refusal.headers.get("retry-after")]).toEqual([429, "39"]);
    expect((await call("reactions.remove", args, otherTokens.second)).error).toBe(
      "channel_not_found",
    );
    expect((await call("reactions.add", args)).ok).toBe(true);
    nowMs += 39_000;
    expect((await call("reactions.remove", args)).ok).toBe(true);
  });

  it("requires no scope that no configuration asks for", () => {
    const slackConfig = {
      command: { name: "/sekisho" },
      shortcut: {},
      assistant: {},
      locale: "user",
    };
    const files = { canvases: true };
    const all = botScopes(
      parseConfig({ json: { slack: slackConfig, files, allowlist: [{ group: "S0DEPLOY" }] } }),
    );
    for (const [name, { scopes = "" }] of methodRows) {
      const isAsked = scopes === "" || scopes.split(" ").some((scope) => all.includes(scope));
      expect([name, isAsked]).toEqual([name, true]);
    }
  });
});

describe("the bot's own messages", () => {
  it("lets the bot edit and delete only its own messages", async () => {
    const { asked } = slack;
    expect((await call("chat.update", { channel, ts: asked, text: "hi" })).error).toBe(
      "cant_update_message",
    );
    expect((await call("chat.delete", { channel, ts: asked })).error).toBe("cant_delete_message");
  });

  it("refuses the same reaction of the bot a second time", async () => {
    const reaction = { channel, timestamp: slack.asked, name: "eyes" };
    expect((await call("reactions.add", reaction)).ok).toBe(true);
    expect((await call("reactions.add", reaction)).error).toBe("already_reacted");
  });
});

describe("a thread", () => {
  it("pages a thread with the parent on every page and metadata on request", async () => {
    const metadata = { event_type: "a", event_payload: { b: 1 } };
    const posted = [await post({ metadata }), await post(), await post({ metadata })].map(
      ({ ts }) => ts,
    );
    const replies = (args: object) =>
      call("conversations.replies", { channel, ts: slack.asked, ...args });
    const first = await replies({ include_all_metadata: "true" });
    const { next_cursor: cursor } = first.response_metadata as { next_cursor: string };
    const second = await replies({ cursor });
    const tsOf = (page: Record<string, unknown>) =>
      (page.messages as { ts: string }[]).map(({ ts }) => ts);
    expect(tsOf(first)).toEqual([slack.asked, posted[0], posted[1]]);
    expect(tsOf(second)).toEqual([slack.asked, posted[2]]);
    expect((first.messages as unknown[])[1]).toMatchObject({ metadata });
    expect(JSON.stringify(second)).not.toContain("event_payload");
  });
});

const button = {
  type: "button",
  text: { type: "plain_text", text: "Cancel" },
  action_id: "a",
  value: "v",
};
const section = { type: "section", text: { type: "mrkdwn", text: "x", verbatim: true } };

describe("the validation of blocks", () => {
  it.each([
    ["Markdown of the maximum size", [{ type: "markdown", text: "x".repeat(12_000) }]],
    ["a section with buttons below", [section, { type: "actions", elements: [button] }]],
    [
      "buttons without an action id",
      [{ type: "actions", elements: Array(2).fill({ type: "button", text: button.text }) }],
    ],
    [
      "a context line",
      [{ type: "context", elements: [{ type: "mrkdwn", text: "Request 1234", verbatim: true }] }],
    ],
    ["fifty blocks", Array.from({ length: 50 }, () => ({ type: "divider" }))],
  ])("accepts blocks as Slack does: %s", async (_name, blocks) => {
    const { ok, ts } = await post({ blocks });
    expect(ok).toBe(true);
    expect(stored(ts)?.blocks).toEqual(blocks);
  });

  it("refuses markdown blocks when configured to", async () => {
    await start({ refusesMarkdown: true });
    expect((await post({ blocks: [{ type: "markdown", text: "x" }] })).error).toBe(
      "invalid_blocks",
    );
    expect((await post({ blocks: [section] })).ok).toBe(true);
  });

  it("removes the blocks of a message when an edit has only a text", async () => {
    const { ts } = await post({ blocks: [section] });
    await call("chat.update", { channel, ts, text: "new", blocks: [section, section] });
    expect(stored(ts)?.blocks?.length).toBe(2);
    await call("chat.update", { channel, ts, text: "newer" });
    expect(stored(ts)?.blocks).toBeUndefined();
  });
});

describe("previews of addresses", () => {
  it.each([
    [{}, [{ from_url: "https://a.example/page" }]],
    [{ unfurl_links: "false" }, [{ from_url: "https://a.example/page" }]],
    [{ unfurl_links: "false", unfurl_media: "false" }, undefined],
  ])(
    "adds previews of addresses if a call with %j does not refuse both kinds",
    async (args, attachments) => {
      const { message } = await post({ text: "See https://a.example/page", ...args });
      expect(Object(message).attachments).toEqual(attachments);
    },
  );
});

describe("a stream", () => {
  const recipient = { recipient_user_id: workspace.person, recipient_team_id: workspace.team };
  const started = () =>
    call("chat.startStream", {
      channel,
      thread_ts: slack.asked,
      markdown_text: "one",
      ...recipient,
    });

  it("grows a stream until it is stopped, and then treats it like any other message", async () => {
    const { ts } = await started();
    expect((await call("chat.update", { channel, ts, text: "x" })).error).toBe(
      "streaming_state_conflict",
    );
    expect((await call("chat.delete", { channel, ts })).error).toBe("cant_delete_message");
    await call("chat.appendStream", { channel, ts, markdown_text: ", two" });
    const metadata = { event_type: "a", event_payload: { b: 1 } };
    expect((await call("chat.stopStream", { channel, ts, metadata })).ok).toBe(true);
    expect(stored(ts)).toMatchObject({
      text: "one, two",
      blocks: [{ type: "markdown", text: "one, two" }],
      metadata,
      stream: { state: "closed" },
    });
    expect((await call("chat.stopStream", { channel, ts })).error).toBe(
      "message_not_in_streaming_state",
    );
    expect((await call("chat.update", { channel, ts, text: "x" })).ok).toBe(true);
  });

  it("ends a stream after its time, even if the bot still writes to it", async () => {
    await start({ streamLifeMs: 1000 });
    const { ts } = await started();
    nowMs += 999;
    expect((await call("chat.appendStream", { channel, ts, markdown_text: "!" })).ok).toBe(true);
    nowMs += 1;
    for (const method of ["chat.appendStream", "chat.stopStream"]) {
      const error = "message_not_in_streaming_state";
      expect((await call(method, { channel, ts, markdown_text: "!" })).error).toBe(error);
    }
    expect((await call("chat.update", { channel, ts, text: "x" })).ok).toBe(true);
  });
});

describe("installations", () => {
  it("shows an installation its own channels, and an organization those of all its workspaces", async () => {
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

  it("gives each installation a bot of its own", async () => {
    const { ts } = await call(
      "chat.postMessage",
      { channel: "CSECOND", text: "hi" },
      otherTokens.second,
    );
    expect(slack.fakeSlack.messages().at(-1)).toMatchObject({ ts, user: "UBOTSECOND" });
    const identity = await call("auth.test", {}, otherTokens.organization);
    expect(identity).toMatchObject({ team_id: organization.id, is_enterprise_install: true });
  });

  it("requires an organization to name one of its workspaces", async () => {
    const usergroup = "SGRID";
    const list = (args: object) =>
      call("usergroups.users.list", { usergroup, ...args }, otherTokens.organization);
    expect((await list({})).error).toBe("missing_argument");
    expect((await list({ team_id: workspace.team })).error).toBe("team_access_not_granted");
    expect(await list({ team_id: "TGRID" })).toEqual({ ok: true, users: ["UGRID"] });
  });

  it("exchanges a code and the app's secret for an installation, which ends when the app is uninstalled", async () => {
    await start({ install: { clientId: "1.2", clientSecret: "shh" } });
    const { code } = slack.fakeSlack.authorize({ enterprise: organization.id });
    const access = () => call("oauth.v2.access", { client_id: "1.2", client_secret: "shh", code });
    const { access_token: token, ...rest } = await access();
    expect(rest).toMatchObject({
      ok: true,
      team: null,
      enterprise: { id: organization.id },
      is_enterprise_install: true,
    });
    expect((await access()).error).toBe("invalid_code");
    expect((await call("auth.test", {}, String(token))).ok).toBe(true);
    slack.fakeSlack.uninstall({ enterprise: organization.id });
    expect((await call("auth.test", {}, String(token))).error).toBe("account_inactive");
  });
});

describe("people", () => {
  it.each([
    ["UHANAKO", { ok: true, user: { locale: "ja-JP", team_id: workspace.team } }],
    ["UOUTSIDER", { ok: true, user: { locale: "en-GB", team_id: "TSECOND", is_stranger: true } }],
    ["UGRID", { ok: false, error: "user_not_visible" }],
  ])("returns the person %s as the first workspace sees them", async (user, expected) => {
    expect(await call("users.info", { user, include_locale: "true" })).toMatchObject(expected);
  });

  it("returns a locale on request, the members of a group, and one conversation per person", async () => {
    expect((await call("users.info", { user: "UHANAKO" })).user).not.toHaveProperty("locale");
    expect((await call("usergroups.users.list", { usergroup: "SDEPLOYERS" })).users).toEqual([
      "UHANAKO",
    ]);
    expect((await call("usergroups.users.list", { usergroup: "SGRID" })).error).toBe(
      "no_such_subteam",
    );
    expect((await call("conversations.open", { users: "UHANAKO" })).channel).toEqual({
      id: "DHANAKO",
    });
    expect((await call("conversations.open", {})).error).toBe("users_list_not_supplied");
  });

  it("delivers ephemeral messages without adding them to the history", async () => {
    const { person: user } = workspace;
    expect((await call("chat.postEphemeral", { channel, user, text: "psst" })).ok).toBe(true);
    expect(slack.fakeSlack.ephemeralMessages()).toMatchObject([
      { channel, user: workspace.person, text: "psst" },
    ]);
    expect(slack.fakeSlack.messages().length).toBe(1);
  });
});

describe("the assistant's thread", () => {
  it("shows a status until the bot posts, and keeps suggested prompts", async () => {
    const place = { channel_id: channel, thread_ts: slack.asked };
    const prompts = [{ title: "Hello", message: "What can you do?" }];
    await call("assistant.threads.setSuggestedPrompts", { ...place, prompts });
    await call("assistant.threads.setStatus", { ...place, status: "is thinking" });
    expect(slack.fakeSlack.statuses()).toEqual([
      { channel, threadTs: slack.asked, status: "is thinking" },
    ]);
    await post({});
    expect(slack.fakeSlack.statuses()).toEqual([]);
    expect(slack.fakeSlack.prompts()).toEqual([{ channel, threadTs: slack.asked, prompts }]);
    const nowhere = { ...place, thread_ts: "1.000001", status: "x" };
    expect((await call("assistant.threads.setStatus", nowhere)).error).toBe("invalid_thread_ts");
  });
});

describe("a channel's history", () => {
  it("lists a channel's history newest first, without replies, and distinguishes bots", async () => {
    await post({});
    slack.fakeSlack.postAsOtherBot({ channel, text: "from elsewhere" });
    const { ts: own } = await call("chat.postMessage", { channel, text: "from us" });
    const first = await call("conversations.history", { channel });
    const messages = first.messages as { ts: string; app_id?: string }[];
    expect(messages.map(({ app_id }) => app_id)).toEqual([workspace.app, "AOTHERBOT"]);
    const { next_cursor: cursor } = first.response_metadata as { next_cursor: string };
    const second = await call("conversations.history", { channel, cursor });
    expect((second.messages as { ts: string }[]).map(({ ts }) => ts)).toEqual([slack.asked]);
    const since = await call("conversations.history", { channel, oldest: own, inclusive: "true" });
    expect((since.messages as unknown[]).length).toBe(1);
  });
});

describe("a person in the fake Slack", () => {
  it("adds a mention in the channel but not in a direct message, and escapes what is typed", () => {
    const [inChannel, direct] = [channel, workspace.directMessages.id].map(
      (place) =>
        slack.fakeSlack.ask({
          eventsUrl: slack.fakeSlack.apiUrl,
          text: "<@U1> & co",
          channel: place,
        }).message.text,
    );
    expect(inChannel).toBe(`<@${workspace.botUser}> &lt;@U1&gt; &amp; co`);
    expect(direct).toBe("&lt;@U1&gt; &amp; co");
  });

  it("refuses a message to an unknown channel or thread", () => {
    const { apiUrl: eventsUrl } = slack.fakeSlack;
    expect(() => slack.fakeSlack.ask({ eventsUrl, text: "hi", channel: "CNOWHERE" })).toThrow(
      /channel/,
    );
    expect(() => slack.fakeSlack.ask({ eventsUrl, text: "hi", threadTs: "1.000001" })).toThrow(
      /thread/,
    );
  });

  it("gives each message a larger ts, even within a millisecond", () => {
    const all = Array.from(
      { length: 50 },
      () => slack.fakeSlack.ask({ eventsUrl: slack.fakeSlack.apiUrl, text: "hi" }).message.ts,
    );
    expect(new Set(all).size).toBe(50);
    expect([...all].sort()).toEqual(all);
  });
});

describe("a file", () => {
  const bytes = new TextEncoder().encode("a,b\n1,2\n");

  beforeEach(async () => {
    await slack.fakeSlack.close();
    slack = await startCalledSlack();
  });

  async function announce(file: object = { filename: "table.csv", length: bytes.byteLength }) {
    const { file_id, upload_url } = await slack.call("files.getUploadURLExternal", {
      ...file,
    });
    return { id: String(file_id), url: String(upload_url) };
  }

  async function uploaded(content: Uint8Array = bytes) {
    const { id, url } = await announce();
    const response = await fetch(url, { method: "POST", body: new Uint8Array(content) });
    return { id, status: response.status };
  }

  function complete(...ids: string[]) {
    const files = ids.map((id) => ({ id, title: "The table" }));
    return slack.call("files.completeUploadExternal", {
      files,
      channel_id: channel,
      thread_ts: slack.asked,
    });
  }

  function shared() {
    return slack.fakeSlack.thread({ channel, ts: slack.asked }).flatMap(({ files }) => files ?? []);
  }

  describe("an upload", () => {
    it("shows an upload in the thread as one message once its last step is done", async () => {
      const { id } = await uploaded();
      expect(shared()).toEqual([]);
      expect((await complete(id)).ok).toBe(true);
      expect(shared()).toMatchObject([
        { id, name: "table.csv", title: "The table", mimetype: "text/csv", size: 8 },
      ]);
      expect(Buffer.from(slack.fakeSlack.file(id)?.bytes ?? []).toString()).toBe("a,b\n1,2\n");
    });

    it("completes an upload only once", async () => {
      const { id } = await uploaded();
      await complete(id);
      expect((await complete(id)).error).toBe("file_not_found");
      expect(shared().length).toBe(1);
    });

    it("shows an upload in the thread twice when configured to complete it twice", async () => {
      await slack.fakeSlack.close();
      slack = await startCalledSlack({ completesUploadTwice: "share" });
      const { id } = await uploaded();
      await complete(id);
      await complete(id);
      expect(shared().map((file) => file.id)).toEqual([id, id]);
    });

    it("refuses an upload without bytes or with other bytes than announced", async () => {
      const { id } = await announce({ filename: "a.txt", length: 3 });
      expect((await complete(id)).error).toBe("file_not_found");
      expect((await uploaded(new Uint8Array(3))).status).toBe(400);
    });

    it("completes an upload whose bytes arrived although the response was lost", async () => {
      slack.fakeSlack.inject({ method: "upload", type: "lost_answer" });
      const { id, url } = await announce();
      await expect(fetch(url, { method: "POST", body: bytes })).rejects.toThrow();
      expect((await complete(id)).ok).toBe(true);
    });
  });

  describe("a person's file", () => {
    it("serves a person's file at its address only with the token", async () => {
      const { message } = slack.fakeSlack.ask({
        eventsUrl: slack.fakeSlack.apiUrl,
        text: "read this",
        files: [{ name: "日本語.csv", mimetype: "text/csv", bytes }],
      });
      const thread = await slack.call("conversations.replies", { channel, ts: message.ts });
      const [{ files }] = (
        thread as unknown as { messages: [{ files: { url_private_download: string }[] }] }
      ).messages;
      const url = files[0]?.url_private_download ?? "";
      const get = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } });
      const good = await get(botToken);
      expect([good.headers.get("content-type"), await good.text()]).toEqual([
        "text/csv",
        "a,b\n1,2\n",
      ]);
      const bad = await get("xoxb-another");
      expect([bad.status, bad.headers.get("content-type")]).toEqual([
        200,
        "text/html; charset=utf-8",
      ]);
      expect(await bad.text()).not.toContain("1,2");
      slack.fakeSlack.inject({ method: "download", type: "status", status: 503 });
      expect((await get(botToken)).status).toBe(503);
    });
  });
});
