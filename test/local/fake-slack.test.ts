import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "../../lib/local/fake-slack/fake-slack.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";

const botToken = "xoxb-the-only-one";
const channel = workspace.channel.id;

let fakeSlack: FakeSlack;
let asked: { ts: string };

beforeEach(async () => {
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, pageSize: 2 });
  asked = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hello" }).message;
});
afterEach(() => fakeSlack.close());

async function call(method: string, args: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${fakeSlack.apiUrl}${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${botToken}`, ...headers },
    body: new URLSearchParams(args),
  });
  return response.json() as Promise<{ ok: boolean; error?: string; ts?: string; [field: string]: unknown }>;
}

async function post(args: Record<string, string> = {}) {
  const { ts = "" } = await call("chat.postMessage", { channel, thread_ts: asked.ts, text: "hi", ...args });
  return ts;
}

describe("the fake Slack is as strict as Slack", () => {
  it("about tokens", async () => {
    expect((await call("auth.test", {}, { authorization: "Bearer xoxb-another" })).error).toBe("invalid_auth");
    expect((await call("auth.test", {}, { authorization: "" })).error).toBe("not_authed");
    expect(await call("auth.test")).toMatchObject({ ok: true, team_id: workspace.team, user_id: workspace.botUser });
  });

  it("about methods and bodies", async () => {
    expect((await call("chat.postEverywhere")).error).toBe("unknown_method");
    expect((await call("auth.test", {}, { "content-type": "text/plain" })).error).toBe("invalid_form_data");
    expect((await fetch(`${fakeSlack.apiUrl}auth.test`)).status).toBe(404);
  });

  it.each([
    ["chat.postMessage", { channel: "CNOWHERE", text: "hi" }, "channel_not_found"],
    ["chat.postMessage", { channel }, "no_text"],
    ["chat.postMessage", { channel, text: "hi", thread_ts: "1.000001" }, "invalid_thread_ts"],
    ["chat.postMessage", { channel, text: "hi", metadata: "{}" }, "invalid_metadata_format"],
    ["chat.postMessage", { channel, text: "hi", metadata: "not JSON" }, "invalid_metadata_format"],
    ["chat.update", { channel, ts: "1.000001", text: "hi" }, "message_not_found"],
    ["chat.delete", { channel, ts: "1.000001" }, "message_not_found"],
    ["reactions.add", { channel, timestamp: "1.000001", name: "eyes" }, "message_not_found"],
    ["reactions.add", { channel, timestamp: "1.000001", name: "Not a name" }, "invalid_name"],
    ["conversations.replies", { channel, ts: "1.000001" }, "thread_not_found"],
  ])("%s %j: %s", async (method, args, error) => {
    expect(await call(method, args as Record<string, string>)).toEqual({ ok: false, error });
  });

  it("about whose message is edited or deleted, and how long it gets", async () => {
    const ts = await post();
    expect((await call("chat.update", { channel, ts: asked.ts, text: "hi" })).error).toBe("cant_update_message");
    expect((await call("chat.delete", { channel, ts: asked.ts })).error).toBe("cant_delete_message");
    expect((await call("chat.update", { channel, ts, text: "x".repeat(4001) })).error).toBe("msg_too_long");
  });

  it("about reactions that are there, or are not", async () => {
    const reaction = { channel, timestamp: asked.ts, name: "eyes" };
    expect((await call("reactions.remove", reaction)).error).toBe("no_reaction");
    expect((await call("reactions.add", reaction)).ok).toBe(true);
    expect((await call("reactions.add", reaction)).error).toBe("already_reacted");
  });

  it("pages a thread, with the parent on every page and metadata only if asked for", async () => {
    const metadata = { event_type: "a", event_payload: { b: 1 } };
    const withMetadata = { metadata: JSON.stringify(metadata) };
    const posted = [await post(withMetadata), await post(), await post(withMetadata)];
    const first = await call("conversations.replies", { channel, ts: asked.ts, include_all_metadata: "true" });
    const { next_cursor: cursor } = first.response_metadata as { next_cursor: string };
    const second = await call("conversations.replies", { channel, ts: asked.ts, cursor });
    const tsOf = (page: Record<string, unknown>) => (page.messages as { ts: string }[]).map(({ ts }) => ts);
    expect(tsOf(first)).toEqual([asked.ts, posted[0], posted[1]]);
    expect(tsOf(second)).toEqual([asked.ts, posted[2]]);
    expect((first.messages as unknown[])[1]).toMatchObject({ metadata });
    expect(JSON.stringify(second)).not.toContain("event_payload");
  });
});

describe("a person in the fake Slack", () => {
  it("mentions the bot in the channel, but not in a direct message, and cannot type Slack's own notation", () => {
    const [inChannel, direct] = [channel, workspace.directMessages.id].map(
      (place) => fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "<@U1> & co", channel: place }).message.text,
    );
    expect(inChannel).toBe(`<@${workspace.botUser}> &lt;@U1&gt; &amp; co`);
    expect(direct).toBe("&lt;@U1&gt; &amp; co");
  });

  it("cannot write where there is nothing", () => {
    const { apiUrl: eventsUrl } = fakeSlack;
    expect(() => fakeSlack.ask({ eventsUrl, text: "hi", channel: "CNOWHERE" })).toThrow(/channel/);
    expect(() => fakeSlack.ask({ eventsUrl, text: "hi", threadTs: "1.000001" })).toThrow(/thread/);
  });

  it("never gets two messages of the same ts, even within a millisecond", async () => {
    await fakeSlack.close();
    fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, now: () => 1_700_000_000_000 });
    const all = Array.from({ length: 50 }, () => fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hi" }).message.ts);
    expect(new Set(all).size).toBe(50);
    expect([...all].sort()).toEqual(all);
  });
});
