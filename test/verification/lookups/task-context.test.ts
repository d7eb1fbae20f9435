/** The names and channels that an agent gets beside the text, looked up at a fake Slack. */
import { describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createFindTaskContext } from "@sekisho/verification/lookups/task-context.ts";
import type { PostedMessage } from "@sekisho/verification/slack/api/slack.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { serve } from "../../doubles/serving.ts";
import { slackClient } from "../slack/api/slack-client.ts";
import { sampleTask } from "../task/sample.ts";

const client = slackClient();
const unscoped = slackClient({ scopes: ["chat:write"] });

const everything = { names: true, groups: true, channel: true, open: true };
const namesOnly = { names: true, groups: false, channel: false, open: false };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

type Given = {
  text?: string;
  message?: Partial<UserMessage>;
  thread?: readonly PostedMessage[];
};

/** `find` looks up in one process, whose clock `pass` moves. */
function lookups({
  settings = everything,
  slack = client(),
  apiUrl = slack.fakeSlack.apiUrl,
  maxWaitMs = 60_000,
}: {
  settings?: Parameters<typeof createFindTaskContext>[0]["settings"];
  slack?: ReturnType<typeof client>;
  apiUrl?: string;
  maxWaitMs?: number;
} = {}) {
  let nowMs = 0;
  const api = slack.api({ apiUrl });
  const findTaskContext = createFindTaskContext({
    slack: api,
    settings,
    now: () => nowMs,
    maxWaitMs,
  });
  const calls = () => slack.calls.filter((method) => !method.startsWith("chat."));
  return {
    calls,
    pass(ms: number) {
      nowMs += ms;
    },
    find({ text = "", message = {}, thread = [] }: Given = {}) {
      const { channel, person: user, team } = workspace;
      const askedMessage = {
        ...sampleTask().message,
        team,
        user,
        channel: channel.id,
        ts: "1700000000.000100",
        text,
      };
      const task = sampleTask({ message: { ...askedMessage, ...message } });
      return findTaskContext({ task, texts: [text], thread, signal: new AbortController().signal });
    },
  };
}

const postBy = (user: string, markdown = ""): PostedMessage => ({
  ...{
    ts: "1600000000.000100",
    text: markdown,
    markdown,
    key: undefined,
    from: "person",
    user,
    fileIds: [],
  },
});

describe("names", () => {
  it("finds the names of people and groups in the text and of the writers of the thread", async () => {
    const user = { profile: { display_name: "Robin" } };
    const usergroups = [{ id: "S1", handle: "ops" }];
    const { url } = await serve(() => Response.json({ ok: true, user, usergroups }));
    const zone = lookups({ settings: { ...namesOnly, groups: true }, apiUrl: `${url}/` });
    const { names } = await zone.find({
      text: "Tell @U1 and @S1",
      thread: [postBy("U2", "and @W3")],
    });
    expect(names).toEqual({ U1: "Robin", S1: "ops", U2: "Robin", W3: "Robin" });
  });

  it("makes no call for a text without ids", async () => {
    const zone = lookups({ settings: { ...everything, channel: false } });
    expect(await zone.find({ text: "Ask @robin in #general" })).toEqual({
      names: {},
      context: undefined,
    });
    expect(zone.calls()).toEqual([]);
  });

  it("asks for a name once in six hours", async () => {
    const zone = lookups({ settings: namesOnly });
    const thread = [postBy("UHANAKO")];
    for (const ms of [0, hourMs, 4 * hourMs]) {
      zone.pass(ms);
      expect((await zone.find({ thread })).names).toEqual({ UHANAKO: "Hanako" });
    }
    expect(zone.calls()).toEqual(["users.info"]);
    zone.pass(hourMs);
    await zone.find({ thread });
    expect(zone.calls()).toEqual(["users.info", "users.info"]);
  });

  it("looks up a person whom Slack does not know only once an hour", async () => {
    const zone = lookups({ settings: namesOnly });
    for (const ms of [0, hourMs - 1]) {
      zone.pass(ms);
      expect((await zone.find({ text: "@U0NOBODY" })).names).toEqual({});
    }
    expect(zone.calls()).toEqual(["users.info"]);
    zone.pass(1);
    await zone.find({ text: "@U0NOBODY" });
    expect(zone.calls()).toHaveLength(2);
  });

  it("keeps ids if the scope is missing, and asks again once an hour", async () => {
    const zone = lookups({ settings: namesOnly, slack: unscoped() });
    expect((await zone.find({ text: "@U1 @U2" })).names).toEqual({});
    const callCount = zone.calls().length;
    zone.pass(hourMs - 1);
    await zone.find({ text: "@U3 @U4" });
    expect(zone.calls()).toHaveLength(callCount);
    zone.pass(1);
    await zone.find({ text: "@U5" });
    expect(zone.calls()).toHaveLength(callCount + 1);
  });

  it.each([
    ["limits the calls", { type: "rate_limited", retryAfterSeconds: 30 }],
    ["is down", { type: "error", error: "service_unavailable" }],
  ] as const)("keeps ids for a minute if Slack %s", async (_name, fault) => {
    const zone = lookups({ settings: namesOnly });
    for (let attempt = 0; attempt < 3; attempt++)
      client().fakeSlack.inject({ method: "users.info", ...fault });
    expect((await zone.find({ thread: [postBy("UHANAKO")] })).names).toEqual({});
    const callCount = zone.calls().length;
    zone.pass(minuteMs - 1);
    await zone.find({ thread: [postBy("UPERSON")] });
    expect(zone.calls()).toHaveLength(callCount);
  });

  it("keeps ids if Slack takes too long, and does not ask again for the next task", async () => {
    const zone = lookups({ settings: namesOnly, maxWaitMs: 1000 });
    client().fakeSlack.inject({ method: "users.info", type: "late", delayMs: 60_000 });
    expect((await zone.find({ thread: [postBy("UHANAKO")] })).names).toEqual({});
    expect((await zone.find({ thread: [postBy("UPERSON")] })).names).toEqual({});
    zone.pass(minuteMs);
    expect((await zone.find({ thread: [postBy("UPERSON")] })).names).toEqual({ UPERSON: "You" });
  });

  it("makes at most ten calls, for the text first and then for the newest messages", async () => {
    const zone = lookups({ settings: namesOnly });
    const text = Array.from({ length: 9 }, (_, at) => `@U${at}X`).join(" ");
    const thread = [postBy("UPERSON"), { ...postBy("UHANAKO"), ts: "1600000001.000100" }];
    expect((await zone.find({ text, thread })).names).toEqual({ UHANAKO: "Hanako" });
    expect(zone.calls()).toHaveLength(10);
  });

  it("removes brackets, line breaks and invisible characters from names", async () => {
    const display_name = "Bo\u202Eb\u200B (U0ADMIN)\n> [ops](https://evil.example) <@U1>\u0007";
    const { url } = await serve(() =>
      Response.json({ ok: true, user: { profile: { display_name } } }),
    );
    const { names } = await lookups({ settings: namesOnly, apiUrl: `${url}/` }).find({
      text: "@U1",
    });
    expect(names).toEqual({ U1: "Bob U0ADMIN opshttps://evil.example @U1" });
  });

  it.each([
    [{ profile: { display_name: "", real_name: "Robin Doe" }, name: "robin" }, "Robin Doe"],
    [{ profile: null, real_name: "", name: "robin" }, "robin"],
    [{ profile: { display_name: 7 }, real_name: "Robin" }, "Robin"],
  ])("prefers the display name, then the real name, then the user name: %j", async (user, name) => {
    const { url } = await serve(() => Response.json({ ok: true, user }));
    const { names } = await lookups({ settings: namesOnly, apiUrl: `${url}/` }).find({
      text: "@U1",
    });
    expect(names).toEqual({ U1: name });
  });

  it("looks up no ids typed by a person of another organization, who could type any id", async () => {
    const zone = lookups();
    const message = { external: "people", channel: "CSHARED", user: "UOUTSIDER" } as const;
    const { names } = await zone.find({
      text: "@U1 #C1",
      message,
      thread: [postBy("UPERSON", "@U2")],
    });
    expect(names).toEqual({ UPERSON: "You" });
    expect(zone.calls().toSorted()).toEqual(["conversations.info", "users.info"]);
  });

  it("names a channel only if both the person and the bot are in it", async () => {
    const ids = ["CRANDOM", "CPRIVATE", "CHIDDEN", "CWITHOUT"];
    const open = ids.map((id) => ({ type: "channel", id }) as const);
    const zone = lookups({ settings: { ...namesOnly, open: true } });
    const contexts = await Promise.all(
      [workspace.person, "UHANAKO"].map((user) => zone.find({ message: { user, open } })),
    );
    expect(contexts.map(({ context }) => context?.open?.map(({ name }) => name))).toEqual([
      ["random"],
      ["random", "board"],
    ]);
  });

  it("looks up nothing if the configuration switches names off", async () => {
    const zone = lookups({
      settings: { names: false, groups: false, channel: false, open: false },
    });
    const message = { open: [{ type: "channel" as const, id: "CRANDOM" }] };
    const contextOfReply = await zone.find({
      text: "@U1 @S1 #C1",
      message,
      thread: [postBy("UHANAKO")],
    });
    expect(contextOfReply).toEqual({ names: {}, context: undefined });
    expect(zone.calls()).toEqual([]);
  });
});

describe("handles of groups", () => {
  it("reads the handles of all groups with one call an hour", async () => {
    const usergroups = [{ id: "S1", handle: "ops" }, { id: "S2", handle: "(devs)" }, { id: "S3" }];
    let calls = 0;
    const { url } = await serve(() => {
      calls += 1;
      return Response.json({ ok: true, usergroups });
    });
    const zone = lookups({ settings: { ...namesOnly, groups: true }, apiUrl: `${url}/` });
    for (const text of ["@S1 @S2 @S3", "@S2 @S4"]) await zone.find({ text });
    expect((await zone.find({ text: "@S1 @S2 @S3" })).names).toEqual({ S1: "ops", S2: "devs" });
    expect(calls).toBe(1);
  });
});

describe("the channel", () => {
  it("returns the name, the kind and the topic of a channel in Markdown", async () => {
    const { context } = await lookups().find({ message: { channel: "CRANDOM" } });
    const channel_topic = "Cats & dogs, see [the rules](https://example.com/pets)";
    expect(context).toEqual({ channel_name: "random", channel_kind: "public", channel_topic });
  });

  it("treats a channel as private if Slack does not say otherwise", async () => {
    const { context } = await lookups().find({ message: { channel: "CPRIVATE", user: "UHANAKO" } });
    expect(context).toEqual({ channel_name: "board", channel_kind: "private" });
    const { url } = await serve(() =>
      Response.json({ ok: true, channel: { id: "C1", name: "x", is_member: true } }),
    );
    expect((await lookups({ apiUrl: `${url}/` }).find()).context).toEqual({
      channel_name: "x",
      channel_kind: "private",
    });
  });

  it("leaves out the name of a group direct message", async () => {
    const channel = {
      id: "G1",
      name: "mpdm-a--b--c-1",
      is_mpim: true,
      is_private: true,
      is_member: true,
    };
    const { url } = await serve(() => Response.json({ ok: true, channel }));
    expect((await lookups({ apiUrl: `${url}/` }).find()).context).toEqual({
      channel_kind: "group",
    });
  });

  it("knows a direct message without a call", async () => {
    const zone = lookups();
    const { context } = await zone.find({
      message: { channel: workspace.directMessages.id, direct: true },
    });
    expect(context).toEqual({ channel_kind: "direct" });
    expect(zone.calls()).toEqual([]);
  });

  it("leaves out a channel that the bot is not in or that Slack does not show", async () => {
    const zone = lookups();
    for (const channel of ["CWITHOUT", "CHIDDEN"]) {
      expect((await zone.find({ message: { channel } })).context).toBeUndefined();
    }
  });

  it("asks for a channel once an hour", async () => {
    const zone = lookups();
    for (const ms of [0, hourMs - 1, 1]) {
      zone.pass(ms);
      await zone.find();
    }
    expect(zone.calls()).toEqual(["conversations.info", "conversations.info"]);
  });
});

describe("the open items of the person", () => {
  const open = [
    { type: "channel", id: workspace.channel.id },
    { type: "message", id: "1700000000.000900", channel: "CRANDOM" },
    { type: "message", id: "1700000000.000900", channel: "CPRIVATE" },
    { type: "channel", id: "CWITHOUT" },
  ] as const;
  const message = { channel: workspace.directMessages.id, direct: true, open: [...open] };

  it("keeps only those open things that both the person and the bot can see", async () => {
    expect((await lookups().find({ message })).context?.open).toEqual([
      { type: "channel", id: workspace.channel.id, name: "general" },
      open[1],
    ]);
  });

  it("leaves out open things if Slack does not say who is in the channel", async () => {
    for (let attempt = 0; attempt < 3; attempt++) {
      client().fakeSlack.inject({
        method: "conversations.members",
        type: "error",
        error: "fetch_members_failed",
      });
    }
    expect(
      (await lookups().find({ message: { ...message, open: [open[1]] } })).context?.open,
    ).toBeUndefined();
  });

  it("asks Slack once an hour about each open channel", async () => {
    const zone = lookups();
    await zone.find({ message });
    const callCount = zone.calls().length;
    await zone.find({ message });
    expect(zone.calls()).toHaveLength(callCount);
  });
});
