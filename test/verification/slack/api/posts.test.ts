import { describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createBotTokens } from "@sekisho/verification/installations/installations.ts";
import { appId, botToken, failure, requestId, slackClient, text } from "./slack-client.ts";

const client = slackClient();
const key = { requestId, kind: "answer", index: 0 } as const;
const markdown = [{ type: "markdown", text: "**Done.**" }];

describe("the Slack API", () => {
  it("posts blocks with a notification text and edits both", async () => {
    const { api, common, asked, fakeSlack } = client();
    const content = { text: "Done.", blocks: markdown };
    const { ts } = await api().post({ ...common, threadTs: asked.ts, content, key });
    const findPost = () => fakeSlack.messages().find((message) => message.ts === ts);
    expect(findPost()).toMatchObject({ text: "Done.", blocks: markdown, threadTs: asked.ts });
    await api().update({ ...common, ts, content: { text: "Gone." }, key });
    expect(findPost()?.text).toBe("Gone.");
    expect(findPost()?.blocks ?? []).toEqual([]);
  });

  it("requests no link preview in a post or an edit", async () => {
    const { api, common, asked, fakeSlack } = client();
    const content = { text: "See https://a.example/page." };
    const { ts } = await api().post({ ...common, threadTs: asked.ts, content, key });
    const findPost = () => fakeSlack.messages().find((message) => message.ts === ts);
    expect(findPost()).toMatchObject(content);
    expect(findPost()?.unfurls).toBeUndefined();
    await api().update({ ...common, ts, content: { text: "See https://b.example." }, key });
    expect(findPost()?.unfurls).toBeUndefined();
  });

  it("posts into the channel if no thread is given", async () => {
    const { api, common, fakeSlack } = client();
    const { ts } = await api().post({
      ...common,
      threadTs: undefined,
      content: { text: "Opening." },
      key,
    });
    expect(fakeSlack.messages().find((message) => message.ts === ts)?.threadTs).toBeUndefined();
  });

  it("edits the text of a post and keeps its key", async () => {
    const { api, common, asked, post } = client();
    const { ts } = await post();
    await api().update({ ...common, ts, content: { text: "Done." }, key });
    const replies = await api().replies({ ...common, threadTs: asked.ts, oldestTs: ts, appId });
    expect(replies).toEqual([expect.objectContaining({ ts, text: "Done.", key })]);
  });

  it("removes a post", async () => {
    const { api, common, post, answers } = client();
    const { ts } = await post();
    await api().remove({ ...common, ts });
    expect(answers()).toEqual([]);
  });

  it("adds and removes a reaction and accepts that this was done before", async () => {
    const { api, common, asked, fakeSlack, lines } = client();
    const reaction = { ...common, ts: asked.ts, name: "eyes" };
    await api().react({ ...reaction, present: true });
    await api().react({ ...reaction, present: true });
    expect(fakeSlack.messages()[0]?.reactions).toEqual(["eyes"]);
    await api().react({ ...reaction, present: false });
    await api().react({ ...reaction, present: false });
    expect(fakeSlack.messages()[0]?.reactions).toEqual([]);
    expect(lines).toEqual([]);
  });

  it("posts an ephemeral message to one person and never repeats it after a lost answer", async () => {
    const { api, common, asked, fakeSlack, waits } = client();
    const message = {
      ...common,
      threadTs: asked.ts,
      user: workspace.person,
      text: "Only for you.",
    };
    await api().postEphemeral(message);
    expect(fakeSlack.ephemeralMessages()).toEqual([
      expect.objectContaining({
        user: workspace.person,
        text: "Only for you.",
        threadTs: asked.ts,
      }),
    ]);
    fakeSlack.inject({ method: "chat.postEphemeral", type: "lost_answer" });
    expect((await failure(api().postEphemeral(message))).kind).toBe("ambiguous");
    expect(waits).toEqual([]);
    expect(fakeSlack.ephemeralMessages().length).toBe(2);
  });

  it("requests the token of the installation for every call", async () => {
    const { api, common, post, answers } = client();
    const tokens = createBotTokens({ botToken: async () => botToken });
    const fetchCount: unknown[] = [];
    const slack = api({
      tokens: {
        ...tokens,
        tokenOf: async (installation) => {
          fetchCount.push(installation);
          return fetchCount.length === 1 ? "xoxb-old" : tokens.tokenOf(installation);
        },
        readNewerToken: async () => undefined,
      },
    });
    expect(await failure(post(slack))).toMatchObject({ kind: "gone", slackError: "invalid_auth" });
    await post(slack);
    expect(answers()).toEqual([text]);
    expect(fetchCount).toEqual([common.installation, common.installation]);
  });

  it("allows plain HTTP only to loopback", () => {
    const { api } = client();
    expect(() => api({ apiUrl: "http://slack.example.com/api/" })).toThrow(/https/);
    expect(() => api({ apiUrl: "https://slack.example.com/api/" })).not.toThrow();
  });
});

describe("a refused call", () => {
  it.each([
    ["is_archived", "gone"],
    ["not_in_channel", "gone"],
    ["token_revoked", "gone"],
    ["account_inactive", "gone"],
    ["msg_too_long", "refused"],
    ["invalid_blocks", "refused"],
    ["invalid_blocks_format", "refused"],
    ["msg_blocks_too_long", "refused"],
    ["ratelimited", "rate_limited"],
    ["service_unavailable", "unavailable"],
    ["internal_error", "ambiguous"],
    ["an_error_that_slack_adds_tomorrow", "ambiguous"],
    ["constructor", "ambiguous"],
  ])("reports the Slack error %s as %s", async (error, kind) => {
    const { fakeSlack, post, answers } = client();
    for (let times = 0; times < 3; times++)
      fakeSlack.inject({ method: "chat.postMessage", type: "error", error });
    expect(await failure(post())).toMatchObject({ kind, slackError: error });
    expect(answers()).toEqual([]);
  });

  it("reports that a message to edit or remove does not exist", async () => {
    const { api, common } = client();
    const nowhere = { ...common, ts: "1.000001" };
    expect((await failure(api().update({ ...nowhere, content: { text }, key }))).kind).toBe(
      "no_such_message",
    );
    expect((await failure(api().remove(nowhere))).kind).toBe("no_such_message");
  });

  it("reports that it cannot edit the message of a person", async () => {
    const { api, common, asked } = client();
    const update = api().update({ ...common, ts: asked.ts, content: { text }, key });
    expect(await failure(update)).toMatchObject({
      kind: "no_such_message",
      slackError: "cant_update_message",
    });
  });
});

/** Half a character, as an answer that was cut in the middle of an emoji ends. */
const half = "Done 😀".slice(0, -1);
const whole = "Done \ufffd";

describe("text with half a character", () => {
  it("replaces half a character by U+FFFD in text and blocks, in posts and edits", async () => {
    const { api, common, asked, fakeSlack, lines } = client();
    const content = { text: half, blocks: [{ type: "markdown", text: half }] };
    const { ts } = await api().post({ ...common, threadTs: asked.ts, content, key });
    const findPost = () => fakeSlack.messages().find((message) => message.ts === ts);
    expect(findPost()).toMatchObject({ text: whole, blocks: [{ type: "markdown", text: whole }] });
    await api().update({ ...common, ts, content: { text: `${half}!` }, key });
    expect(findPost()?.text).toBe(`${whole}!`);
    expect(lines).toEqual([]);
  });

  it("the fake Slack refuses half a character", async () => {
    const { fakeSlack, common } = client();
    const call = (body: string) =>
      fetch(`${fakeSlack.apiUrl}chat.postMessage`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${botToken}`,
          "content-type": "application/x-www-form-urlencoded",
        },
        body: `channel=${common.channel}&${body}`,
      }).then((response) => response.json());
    expect(await call("text=Done%ED%A0%BD")).toMatchObject({ ok: false, error: "invalid_charset" });
    const blocks = encodeURIComponent(JSON.stringify([{ type: "markdown", text: half }]));
    expect(await call(`text=Done&blocks=${blocks}`)).toMatchObject({
      ok: false,
      error: "invalid_arguments",
    });
  });
});

describe("a call that cannot be encoded", () => {
  const cycle: Record<string, unknown> = { type: "section" };
  cycle.text = cycle;
  let deepList: unknown = "deep";
  for (let depth = 0; depth < 20_000; depth++) deepList = [deepList];

  it("retries a call with the newer token if the old one fits into no header", async () => {
    const { api, post, common, asked } = client();
    const tokens = { tokenOf: async () => `${botToken}\n`, readNewerToken: async () => botToken };
    await post(api({ tokens }));
    expect(
      (await api().replies({ ...common, threadTs: asked.ts, oldestTs: asked.ts, appId })).length,
    ).toBe(2);
  });
});
