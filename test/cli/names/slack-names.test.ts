/** Names of people and channels, and links of threads, as operators get them from Slack. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createSlackNames, type SlackNames } from "@sekisho/sekisho/names/slack-names.ts";
import {
  botToken,
  type CalledSlack,
  channel,
  startCalledSlack,
} from "../../local/fake-slack/web-api.ts";

let slack: CalledSlack;
let names: SlackNames;
let methods: string[];
let nowMs: number;
let connects: number;

beforeEach(() => start());
afterEach(() => stop());

async function start(options: Parameters<typeof startCalledSlack>[0] = {}): Promise<void> {
  await stop();
  slack = await startCalledSlack(options);
  methods = [];
  nowMs = 1_000_000;
  connects = 0;
  slack.fakeSlack.onCall(({ method }) => void methods.push(method));
  open();
}

async function stop(): Promise<void> {
  names?.close();
  await slack?.fakeSlack.close();
}

function open({ token = botToken, apiUrl = slack.fakeSlack.apiUrl, waitMs = 10_000 } = {}): void {
  names = createSlackNames({
    connect: async () => {
      connects += 1;
      if (token === "") throw new Error("There is no token.");
      return { token, apiUrl };
    },
    waitMs,
    now: () => nowMs,
  });
}

const user = "UHANAKO";
const thread = () => ({ channel, ts: slack.asked });
const all = () => ({ users: [user], channels: [channel], threads: [thread()] });
const nothing = { users: new Map(), channels: new Map(), links: new Map() };

describe("names from Slack", () => {
  it("finds the names of people and channels, and the link of a thread", async () => {
    const foundNames = await names.find(all());
    expect(foundNames.users).toEqual(new Map([[user, "Hanako"]]));
    expect(foundNames.channels).toEqual(new Map([[channel, "#general"]]));
    const link = `https://fake-slack.slack.com/archives/${channel}/p${slack.asked.replace(".", "")}`;
    expect(foundNames.links).toEqual(new Map([[`${channel}/${slack.asked}`, link]]));
  });

  it("names a direct message as such", async () => {
    const direct = workspace.directMessages.id;
    expect((await names.find({ channels: [direct] })).channels.get(direct)).toBe("direct message");
  });

  it("asks Slack for each name once, and again when it is old", async () => {
    await names.find({ users: [user, user], channels: [channel] });
    await names.find(all());
    expect(methods.toSorted()).toEqual(["chat.getPermalink", "conversations.info", "users.info"]);
    nowMs += 2 * 3600_000;
    await names.find({ users: [user] });
    expect(methods.filter((method) => method === "users.info")).toHaveLength(2);
  });

  it("omits a name that Slack does not know, and does not ask for it again at once", async () => {
    const unknown = {
      users: ["UNOBODY"],
      channels: ["CNOWHERE"],
      threads: [{ channel, ts: "1.000001" }],
    };
    expect(await names.find(unknown)).toEqual(nothing);
    expect(await names.find(unknown)).toEqual(nothing);
    expect(methods).toHaveLength(3);
    expect((await names.find({ users: ["UNOBODY", user] })).users.get(user)).toBe("Hanako");
  });

  it("calls Slack only for ids that are given", async () => {
    expect(await names.find({})).toEqual(nothing);
    expect(connects).toBe(0);
  });
});

describe("the fallback to ids", () => {
  it("falls back to ids without a token", async () => {
    open({ token: "" });
    expect(await names.find(all())).toEqual(nothing);
    expect(methods).toEqual([]);
  });

  it("falls back to ids for a token that Slack refuses, and soon stops sending it", async () => {
    open({ token: "xoxb-revoked" });
    const users = Array.from({ length: 50 }, (_, index) => `U${index}`);
    const refusals: unknown[] = [];
    slack.fakeSlack.onCall(({ reply }) => void refusals.push(reply));
    expect(await names.find({ users })).toEqual(nothing);
    expect(await names.find(all())).toEqual(nothing);
    expect(refusals.length).toBeLessThanOrEqual(5);
  });

  it("omits the names of a kind whose scope is missing, and finds the others", async () => {
    await start({ scopes: ["users:read", "im:read"] });
    const direct = workspace.directMessages.id;
    await names.find({ channels: [channel] });
    const foundNames = await names.find({
      users: [user],
      channels: [channel, direct],
      threads: [thread()],
    });
    expect(foundNames.users.get(user)).toBe("Hanako");
    expect(foundNames.channels).toEqual(new Map([[direct, "direct message"]]));
    expect(foundNames.links.size).toBe(1);
    const callsBefore = methods.length;
    await names.find({ channels: ["CRANDOM"] });
    expect(methods).toHaveLength(callsBefore);
  });

  it("stops asking over the rate limit of Slack, until its time has passed", async () => {
    slack.fakeSlack.inject({ method: "users.info", type: "rate_limited", retryAfterSeconds: 7 });
    expect((await names.find(all())).users).toEqual(new Map());
    expect((await names.find(all())).users).toEqual(new Map());
    nowMs += 7001;
    expect((await names.find(all())).users.get(user)).toBe("Hanako");
  });

  it.each([
    ["answers with an error", { type: "status", status: 500 }],
    ["cuts the connection", { type: "reset" }],
  ] as const)(
    "falls back to ids if Slack %s, and asks again after a minute",
    async (_what, fault) => {
      slack.fakeSlack.inject({ method: "users.info", ...fault });
      expect((await names.find({ users: [user] })).users).toEqual(new Map());
      nowMs += 60_001;
      expect((await names.find({ users: [user] })).users.get(user)).toBe("Hanako");
    },
  );

  it("omits a name that is late, and returns the others in time", async () => {
    open({ waitMs: 2000 });
    slack.fakeSlack.inject({ method: "users.info", type: "late", delayMs: 60_000 });
    const foundNames = await names.find({ users: [user], channels: [channel] });
    expect(foundNames.users).toEqual(new Map());
    expect(foundNames.channels.get(channel)).toBe("#general");
    expect((await names.find({ users: [user] })).users.get(user)).toBe("Hanako");
  });

  it("falls back to ids when Slack cannot be reached", async () => {
    open({ apiUrl: "http://127.0.0.1:9/" });
    expect(await names.find(all())).toEqual(nothing);
  });
});
