import { describe, expect, it } from "@jest/globals";
import { otherBot, workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { createBotTokens } from "@sekisho/verification/installations/installations.ts";
import { type BotTokens, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { withGrowingLimit } from "../../../doubles/growing-limit.ts";
import { serve } from "../../../doubles/serving.ts";
import { appId, botToken, failure, requestId, slackClient, text } from "./slack-client.ts";

const organizationToken = "xoxb-organization";
const client = slackClient({ otherTokens: { organization: organizationToken } });

const key = { requestId, kind: "answer", index: 0 } as const;
const content = { text: "Done." };

function tokensOf(
  tokenOf: BotTokens["tokenOf"],
  readNewerToken: BotTokens["readNewerToken"] = async () => undefined,
) {
  return { tokens: { tokenOf, readNewerToken } };
}

function replies(slack = client().api()) {
  const { common, asked } = client();
  return slack.replies({ ...common, threadTs: asked.ts, oldestTs: asked.ts, appId });
}

describe("a failure on the network", () => {
  it("stops waiting for a retry when the caller aborts", async () => {
    const { fakeSlack, api, common, asked, calls } = client();
    const caller = new AbortController();
    fakeSlack.inject({ method: "chat.postMessage", type: "rate_limited", retryAfterSeconds: 1 });
    const slack = api({ sleep: async () => caller.abort() });
    const call = slack.post({ ...common, threadTs: asked.ts, content, key, signal: caller.signal });
    expect((await failure(call)).kind).toBe("rate_limited");
    expect(calls).toEqual([]);
  });

  it.each(["status", "reset", "lost_answer"] as const)(
    "never repeats a post after the failure %s",
    async (type) => {
      const { fakeSlack, post, waits, answers } = client();
      fakeSlack.inject({ method: "chat.postMessage", type, status: 500 });
      expect((await failure(post())).kind).toBe("ambiguous");
      expect(waits).toEqual([]);
      expect(answers()).toEqual(type === "lost_answer" ? [text] : []);
    },
  );

  it("reports a post without an answer in time as ambiguous", async () => {
    const { fakeSlack, post, api, calls, waits } = client();
    const postAtMost = (timeoutMs: number) => {
      fakeSlack.inject({ method: "chat.postMessage", type: "late", delayMs: 600_000 });
      return failure(post(api({ timeoutMs })));
    };
    const isFair = () => calls.includes("chat.postMessage");
    const { kind } = await withGrowingLimit({ firstMs: 50, attempt: postAtMost, isFair });
    expect(kind).toBe("ambiguous");
    expect(waits).toEqual([]);
  });

  it("reports a post that has landed as ambiguous when its caller aborts", async () => {
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

  it.each(["status", "reset", "lost_answer"] as const)(
    "repeats a read after the failure %s",
    async (type) => {
      const { fakeSlack, waits } = client();
      fakeSlack.inject({ method: "conversations.replies", type, status: 500 });
      expect((await replies()).length).toBe(1);
      expect(waits).toEqual([150]);
    },
  );

  it("repeats an edit after a lost answer, since that changes nothing", async () => {
    const { fakeSlack, api, post, common, answers } = client();
    const { ts } = await post();
    fakeSlack.inject({ method: "chat.update", type: "lost_answer" });
    await api().update({ ...common, ts, content, key });
    expect(answers()).toEqual(["Done."]);
  });

  it("reports a post as unavailable if nobody listens or no token can be read", async () => {
    const { api, post } = client();
    const apiUrl = `http://127.0.0.1:${await freePort()}/api/`;
    expect((await failure(post(api({ apiUrl })))).kind).toBe("unavailable");
    const noToken = api({ apiUrl, ...tokensOf(() => Promise.reject(new Error("no token"))) });
    expect((await failure(post(noToken))).kind).toBe("unavailable");
  });

  it("reports a post as gone if the app is not installed, without a call", async () => {
    const { api, post, calls } = client();
    const nowhere = api(tokensOf(() => Promise.reject(new SlackError("gone"))));
    expect((await failure(post(nowhere))).kind).toBe("gone");
    expect(calls).toEqual([]);
  });

  it("stops waiting for a token after the time-out or when the caller aborts", async () => {
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
  ])("does not accept %s as a successful post", async (_name, status, type, body) => {
    const { api, post } = client();
    const headers = { "content-type": type, location: "http://127.0.0.1:1/" };
    const { url } = await serve(() => new Response(body, { status, headers }));
    const error = await failure(post(api({ apiUrl: `${url}/api/` })));
    expect(error.kind).toBe(status === 429 ? "rate_limited" : "ambiguous");
    expect(error.slackError).toBeUndefined();
  });

  it("logs every failed call with the request id of its task", async () => {
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

  it("repeats a call once with a newer token if Slack refuses the cached one, also a post", async () => {
    const { api, post, common, answers, lines } = client();
    const tokenRequests: unknown[] = [];
    const newer: BotTokens["readNewerToken"] = async (request) => {
      tokenRequests.push(request);
      return botToken;
    };
    const rotatedApi = api(tokensOf(async () => "xoxb-of-yesterday", newer));
    const { ts } = await post(rotatedApi);
    expect(answers()).toEqual([text]);
    await rotatedApi.update({ ...common, ts, content: { text }, key });
    expect(tokenRequests).toEqual(
      Array(2).fill({ installation: common.installation, tried: "xoxb-of-yesterday" }),
    );
    expect(lines).toEqual([]);
  });

  it("does not repeat a call if there is no newer token or it cannot be read", async () => {
    const { api, post, answers } = client();
    for (const newer of [async () => undefined, () => Promise.reject(new Error("out of reach"))]) {
      const old = api(tokensOf(async () => "xoxb-of-yesterday", newer));
      expect(await failure(post(old))).toMatchObject({ kind: "gone" });
    }
    expect(answers()).toEqual([]);
  });

  it("keeps the token and the text out of logs and errors", async () => {
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

describe("the lookup of people", () => {
  it("reads the language and name of a person", async () => {
    const { api, common } = client();
    expect(await api().person({ ...common, user: "UHANAKO" })).toMatchObject({
      locale: "ja-JP",
      name: "Hanako",
    });
    expect(await api().person({ ...common, user: workspace.person })).toMatchObject({
      locale: "en-US",
    });
  });

  it("reads the workspaces and the organization of a person", async () => {
    const { api, common } = client();
    const outsider = await api().person({ ...common, user: "UOUTSIDER" });
    expect(outsider).toMatchObject({ workspaces: ["TSECOND"], organization: undefined });
  });

  it("tells whether a user is a bot", async () => {
    const { api, common } = client();
    const isBot = async (user: string) => (await api().person({ ...common, user })).isBot;
    expect([await isBot(otherBot.user), await isBot("UHANAKO")]).toEqual([true, false]);
  });

  it("lists the members of a group", async () => {
    const { api, common } = client();
    expect(await api().groupMembers({ ...common, group: "SDEPLOYERS" })).toEqual(["UHANAKO"]);
    expect(await api().groupMembers({ ...common, group: "SNOBODY" })).toEqual([]);
  });

  it("lists the handles of the groups", async () => {
    const { api, common } = client();
    expect(await api().groupHandles(common)).toEqual(
      new Map([
        ["SDEPLOYERS", "deployers"],
        ["SNOBODY", "nobody"],
      ]),
    );
  });

  it("asks for groups of one workspace with the token of an organization", async () => {
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

  it("opens a direct message with a person, also after a lost answer", async () => {
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
  ])("reports a refusal for good if %s answers %s", async (method, error) => {
    const { api, common, fakeSlack } = client();
    fakeSlack.inject({ method, type: "error", error });
    const call =
      method === "users.info"
        ? api().person({ ...common, user: "U1" })
        : api().groupMembers({ ...common, group: "S1" });
    expect(await failure(call)).toMatchObject({ kind: "refused", slackError: error });
  });
});

describe("the lookup of a channel", () => {
  const channelFields = { hasBot: true, isShared: false, kind: "public", topic: undefined };

  it.each([
    [workspace.channel.id, { ...channelFields, name: "general" }],
    [workspace.directMessages.id, { ...channelFields, kind: "direct", name: undefined }],
    ["CSHARED", { ...channelFields, name: "shared", isShared: true }],
    ["CWITHOUT", { ...channelFields, name: "people-only", hasBot: false }],
    ["CPRIVATE", { ...channelFields, name: "board", kind: "private" }],
  ])(
    "reads whether the bot is in a channel, whether that is shared, and its name: %s",
    async (channel, facts) => {
      const { api, common } = client();
      expect(await api().channelInfo({ ...common, channel })).toEqual(facts);
    },
  );

  it("reports a hidden or unknown channel as gone", async () => {
    const { api, common } = client();
    for (const channel of ["CNOWHERE", "CHIDDEN"]) {
      expect((await failure(api().channelInfo({ ...common, channel }))).kind).toBe("gone");
      expect((await failure(api().channelMembers({ ...common, channel }))).kind).toBe("gone");
    }
  });

  it("lists the members of a channel", async () => {
    const { api, common } = client();
    expect(await api().channelMembers(common)).toEqual(["UPERSON", "UHANAKO", workspace.botUser]);
  });

  it("lists the members on the first three pages only", async () => {
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
  it("sets and clears the status of the assistant", async () => {
    const { api, common, fakeSlack, asked } = client();
    const threadTs = asked.ts;
    await api().setStatus({ ...common, threadTs, status: "is working on it …" });
    expect(fakeSlack.statuses()).toMatchObject([{ threadTs, status: "is working on it …" }]);
    await api().setStatus({ ...common, threadTs, status: "" });
    expect(fakeSlack.statuses()).toEqual([]);
  });

  it("suggests prompts", async () => {
    const { api, common, fakeSlack } = client();
    const prompts = [{ title: "Deploy", message: "Deploy the harbour" }];
    await api().suggestPrompts({ ...common, prompts });
    expect(fakeSlack.prompts()).toMatchObject([{ channel: common.channel, prompts }]);
  });
});
