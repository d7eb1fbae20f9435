import { describe, expect, it } from "@jest/globals";
import { otherBot, workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createBotTokens } from "@sekisho/verification/installations/installations.ts";
import { type BotTokens, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { serve, unusedPort } from "../../../doubles/serving.ts";
import { appId, botToken, failure, requestId, slackClient, text } from "./slack-client.ts";

const organizationToken = "xoxb-organization";
const client = slackClient({ otherTokens: { organization: organizationToken } });

const key = { requestId, kind: "answer", index: 0 } as const;
const content = { text: "Done." };

function tokensOf(
  tokenOf: BotTokens["tokenOf"],
  newerThan: BotTokens["newerThan"] = async () => undefined,
) {
  return { tokens: { tokenOf, newerThan } };
}

function replies(slack = client().api()) {
  const { common, asked } = client();
  return slack.replies({ ...common, threadTs: asked.ts, oldestTs: asked.ts, appId });
}

describe("what goes wrong on the way", () => {
  it("gives up waiting when the caller does", async () => {
    const { fakeSlack, api, common, asked, calls } = client();
    const caller = new AbortController();
    fakeSlack.inject({ method: "chat.postMessage", type: "rate_limited", retryAfterSeconds: 1 });
    const slack = api({ sleep: async () => caller.abort() });
    const call = slack.post({ ...common, threadTs: asked.ts, content, key, signal: caller.signal });
    expect((await failure(call)).kind).toBe("rate_limited");
    expect(calls).toEqual([]);
  });

  it.each(["status", "reset", "lost_answer"] as const)(
    "never posts again after a %s",
    async (type) => {
      const { fakeSlack, post, waits, answers } = client();
      fakeSlack.inject({ method: "chat.postMessage", type, status: 500 });
      expect((await failure(post())).kind).toBe("ambiguous");
      expect(waits).toEqual([]);
      expect(answers()).toEqual(type === "lost_answer" ? [text] : []);
    },
  );

  it("calls a post ambiguous that is not answered in time", async () => {
    const { fakeSlack, post, api, waits } = client();
    fakeSlack.inject({ method: "chat.postMessage", type: "late", delayMs: 60_000 });
    expect((await failure(post(api({ timeoutMs: 50 })))).kind).toBe("ambiguous");
    expect(waits).toEqual([]);
  });

  it("calls a post ambiguous that has landed when its caller gives up", async () => {
    const { fakeSlack, api, common, asked, answers } = client();
    const caller = new AbortController();
    fakeSlack.onChange(() => caller.abort());
    const call = api().post({
      ...common,
      threadTs: asked.ts,
      content: { text },
      key,
      signal: caller.signal,
    });
    expect((await failure(call)).kind).toBe("ambiguous");
    expect(answers()).toEqual([text]);
  });

  it.each(["status", "reset", "lost_answer"] as const)("reads again after a %s", async (type) => {
    const { fakeSlack, waits } = client();
    fakeSlack.inject({ method: "conversations.replies", type, status: 500 });
    expect((await replies()).length).toBe(1);
    expect(waits).toEqual([150]);
  });

  it("edits again after a lost answer, since that changes nothing", async () => {
    const { fakeSlack, api, post, common, answers } = client();
    const { ts } = await post();
    fakeSlack.inject({ method: "chat.update", type: "lost_answer" });
    await api().update({ ...common, ts, content, key });
    expect(answers()).toEqual(["Done."]);
  });

  it("knows that nothing was sent where nobody listens, or no token was to be had", async () => {
    const { api, post } = client();
    const apiUrl = `http://127.0.0.1:${await unusedPort()}/api/`;
    expect((await failure(post(api({ apiUrl })))).kind).toBe("unavailable");
    const noToken = api({ apiUrl, ...tokensOf(() => Promise.reject(new Error("no token"))) });
    expect((await failure(post(noToken))).kind).toBe("unavailable");
  });

  it("knows that nobody can post where the app is not installed", async () => {
    const { api, post, calls } = client();
    const nowhere = api(tokensOf(() => Promise.reject(new SlackError("gone"))));
    expect((await failure(post(nowhere))).kind).toBe("gone");
    expect(calls).toEqual([]);
  });

  it("does not wait longer for a token than for an answer, nor when the caller gives up", async () => {
    const { api, post, common, asked, calls } = client();
    const never = tokensOf(() => new Promise<string>(() => {}));
    expect((await failure(post(api({ ...never, timeoutMs: 10 })))).kind).toBe("unavailable");
    const caller = new AbortController();
    const call = api(never).remove({ ...common, ts: asked.ts, signal: caller.signal });
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
    const { api, post } = client();
    const headers = { "content-type": type, location: "http://127.0.0.1:1/" };
    const { url } = await serve(() => new Response(body, { status, headers }));
    const error = await failure(post(api({ apiUrl: `${url}/api/` })));
    expect(error.kind).toBe(status === 429 ? "rate_limited" : "ambiguous");
    expect(error.slackError).toBeUndefined();
  });

  it("logs every failed call under the request id of the task that it is made for", async () => {
    const { fakeSlack, api, post, common, asked, lines } = client();
    const { ts } = await post();
    for (const method of ["chat.update", "conversations.replies", "reactions.add", "chat.delete"])
      fakeSlack.inject({ method, type: "status", status: 500 });
    await api().update({ ...common, ts, content, key });
    await replies();
    await api().react({ ...common, ts: asked.ts, name: "eyes", present: true });
    await api().remove({ ...common, ts });
    expect(lines.map((line) => JSON.parse(line).request_id)).toEqual(Array(4).fill(requestId));
  });

  it("is asked once more with a newer token where Slack does not take the kept one, also for a post", async () => {
    const { api, post, common, answers, lines } = client();
    const tried: unknown[] = [];
    const newer: BotTokens["newerThan"] = async (request) => {
      tried.push(request);
      return botToken;
    };
    const rotated = api(tokensOf(async () => "xoxb-of-yesterday", newer));
    const { ts } = await post(rotated);
    expect(answers()).toEqual([text]);
    await rotated.update({ ...common, ts, content: { text }, key });
    expect(tried).toEqual(
      Array(2).fill({ installation: common.installation, tried: "xoxb-of-yesterday" }),
    );
    expect(lines).toEqual([]);
  });

  it("is not asked again where there is no newer token, or where it cannot be read", async () => {
    const { api, post, answers } = client();
    for (const newer of [async () => undefined, () => Promise.reject(new Error("out of reach"))]) {
      const old = api(tokensOf(async () => "xoxb-of-yesterday", newer));
      expect(await failure(post(old))).toMatchObject({ kind: "gone" });
    }
    expect(answers()).toEqual([]);
  });

  it("puts neither the token nor a text into logs or errors", async () => {
    const { fakeSlack, post, lines } = client();
    for (const type of ["status", "reset", "lost_answer"] as const) {
      fakeSlack.inject({ method: "chat.postMessage", type, status: 500 });
      const error = await failure(post());
      expect(`${error.message} ${error.stack}`).not.toContain(botToken);
    }
    expect(lines.length).toBe(3);
    expect(lines.join("")).toContain(requestId);
    expect(lines.join("")).not.toContain(botToken);
    expect(lines.join("")).not.toContain(text);
  });
});

describe("what Slack knows of people", () => {
  it("is their language", async () => {
    const { api, common } = client();
    expect(await api().person({ ...common, user: "UHANAKO" })).toMatchObject({
      locale: "ja-JP",
      name: "Hanako",
    });
    expect(await api().person({ ...common, user: workspace.person })).toMatchObject({
      locale: "en-US",
    });
  });

  it("is to which workspaces they belong, and to which organization", async () => {
    const { api, common } = client();
    const outsider = await api().person({ ...common, user: "UOUTSIDER" });
    expect(outsider).toMatchObject({ workspaces: ["TSECOND"], organization: undefined });
  });

  it("is whether a user is that of an app", async () => {
    const { api, common } = client();
    const isBot = async (user: string) => (await api().person({ ...common, user })).isBot;
    expect([await isBot(otherBot.user), await isBot("UHANAKO")]).toEqual([true, false]);
  });

  it("is who belongs to a group", async () => {
    const { api, common } = client();
    expect(await api().groupMembers({ ...common, group: "SDEPLOYERS" })).toEqual(["UHANAKO"]);
    expect(await api().groupMembers({ ...common, group: "SNOBODY" })).toEqual([]);
  });

  it("is the handles of the groups", async () => {
    const { api, common } = client();
    expect(await api().groupHandles(common)).toEqual(
      new Map([
        ["SDEPLOYERS", "deployers"],
        ["SNOBODY", "nobody"],
      ]),
    );
  });

  it("is asked of one workspace where the token is of an organization", async () => {
    const { api, common, fakeSlack } = client();
    const args: unknown[] = [];
    fakeSlack.onCall((call) => args.push(call.args.team_id));
    await api().groupMembers({ ...common, group: "SNOBODY" });
    await api().groupHandles(common);
    const slack = api({ tokens: createBotTokens({ botToken: async () => organizationToken }) });
    const installation = { team: "TGRID", enterprise: "ESTANDIN" };
    await slack.groupMembers({ ...common, installation, group: "S1" }).catch(() => {});
    expect([...(await slack.groupHandles({ ...common, installation })).values()]).toEqual(["grid"]);
    expect(args).toEqual([undefined, undefined, "TGRID", "TGRID"]);
  });

  it("is where one can write to them alone", async () => {
    const { api, common, fakeSlack } = client();
    const { channel } = await api().openDirect({ ...common, user: "UHANAKO" });
    expect(channel).toBe("DHANAKO");
    fakeSlack.inject({ method: "conversations.open", type: "lost_answer" });
    expect(await api().openDirect({ ...common, user: "UHANAKO" })).toEqual({ channel });
  });

  it.each([
    ["users.info", "user_not_found"],
    ["users.info", "user_not_visible"],
    ["usergroups.users.list", "no_such_subteam"],
    ["usergroups.users.list", "plan_upgrade_required"],
  ])("is refused for good where %s says %s", async (method, error) => {
    const { api, common, fakeSlack } = client();
    fakeSlack.inject({ method, type: "error", error });
    const call =
      method === "users.info"
        ? api().person({ ...common, user: "U1" })
        : api().groupMembers({ ...common, group: "S1" });
    expect(await failure(call)).toMatchObject({ kind: "refused", slackError: error });
  });
});

describe("what Slack knows of a channel", () => {
  const seen = { hasBot: true, isShared: false, kind: "public", topic: undefined };

  it.each([
    [workspace.channel.id, { ...seen, name: "general" }],
    [workspace.directMessages.id, { ...seen, kind: "direct", name: undefined }],
    ["CSHARED", { ...seen, name: "shared", isShared: true }],
    ["CWITHOUT", { ...seen, name: "people-only", hasBot: false }],
    ["CPRIVATE", { ...seen, name: "board", kind: "private" }],
  ])(
    "is whether the bot is in it, whether it is shared, and its name: %s",
    async (channel, facts) => {
      const { api, common } = client();
      expect(await api().channelInfo({ ...common, channel })).toEqual(facts);
    },
  );

  it("is nothing of a channel that it does not show", async () => {
    const { api, common } = client();
    for (const channel of ["CNOWHERE", "CHIDDEN"]) {
      expect((await failure(api().channelInfo({ ...common, channel }))).kind).toBe("gone");
      expect((await failure(api().channelMembers({ ...common, channel }))).kind).toBe("gone");
    }
  });

  it("is who is in it", async () => {
    const { api, common } = client();
    expect(await api().channelMembers(common)).toEqual(["UPERSON", "UHANAKO", workspace.botUser]);
  });

  it("is who is on the first three pages of its members", async () => {
    let page = 0;
    const { url } = await serve(() => {
      page += 1;
      return Response.json({
        ok: true,
        members: [`U${page}`],
        response_metadata: { next_cursor: "more" },
      });
    });
    const { api, common } = client();
    expect(await api({ apiUrl: `${url}/` }).channelMembers(common)).toEqual(["U1", "U2", "U3"]);
  });
});

describe("the assistant", () => {
  it("says what it is at, and takes it back", async () => {
    const { api, common, fakeSlack, asked } = client();
    const threadTs = asked.ts;
    await api().setStatus({ ...common, threadTs, status: "is working on it …" });
    expect(fakeSlack.statuses()).toMatchObject([{ threadTs, status: "is working on it …" }]);
    await api().setStatus({ ...common, threadTs, status: "" });
    expect(fakeSlack.statuses()).toEqual([]);
  });

  it("suggests what one could ask", async () => {
    const { api, common, fakeSlack } = client();
    const prompts = [{ title: "Deploy", message: "Deploy the harbour" }];
    await api().suggestPrompts({ ...common, prompts });
    expect(fakeSlack.prompts()).toMatchObject([{ channel: common.channel, prompts }]);
  });
});
