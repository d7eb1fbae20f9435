/** Who may ask, answer and cancel, by configuration, kept rules and user groups; and in which language they read. */
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { AllowlistRule } from "@sekisho/config/schema.ts";
import { configFields } from "@sekisho/config/schema.ts";
import { createGate } from "@sekisho/verification/gate/gate.ts";
import { createLocales } from "@sekisho/verification/gate/people.ts";
import { parseUsage } from "@sekisho/verification/gate/quotas.ts";
import { parseRefusalRecord } from "@sekisho/verification/gate/refusals.ts";
import { findRoute, noStoredRules, parseStoredRules } from "@sekisho/verification/gate/rules.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import type { AgentQuestion } from "@sekisho/verification/task/task.ts";
import { isTooOld, maxAgeMs } from "@sekisho/verification/task/time-limits.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { sampleAsk, sampleCall, sampleTask } from "../task/sample.ts";

const { signal } = new AbortController();
const { message, requestId } = sampleAsk();
const own = (user: string) => ({ user, external: undefined });
const away = () => Promise.reject(new Error("the store is away"));
let nowMs = 1_760_000_000_000;
let groups: Record<string, string[] | SlackError>;
let calls: { group?: string; user?: string; team: string; enterprise: string | undefined }[];
let locale: () => Promise<{ locale: string | undefined }>;
let profiles: Record<
  string,
  { workspaces: string[]; organization?: string; isBot?: boolean } | SlackError
>;
const { log, lines } = collectLog();

beforeEach(() => {
  groups = {};
  calls = [];
  locale = async () => ({ locale: "en-US" });
  profiles = {};
  lines.length = 0;
});

function setUp(json: object = {}) {
  const ruleStore = createMemoryTaskStore({ parse: parseStoredRules, now: () => nowMs });
  const reads = { ruleStore: 0, get: ruleStore.get };
  const gate = createGate({
    config: configFields.parse({ slack: { locale: "en" }, ...json }),
    ruleStore: {
      get(request) {
        reads.ruleStore += 1;
        return reads.get(request);
      },
    },
    refusalStore: createMemoryTaskStore({ parse: parseRefusalRecord, now: () => nowMs }),
    usageStore: createMemoryTaskStore({ parse: parseUsage, now: () => nowMs }),
    slack: {
      async groupMembers({ group, installation: { team, enterprise } }) {
        calls.push({ group, team, enterprise });
        const members =
          groups[group] ?? new SlackError("refused", { slackError: "no_such_subteam" });
        if (members instanceof SlackError) throw members;
        return members;
      },
      async person({ user, installation: { team, enterprise } }) {
        calls.push({ user, team, enterprise });
        const profile = profiles[user] ?? { workspaces: ["T1"] };
        if (profile instanceof SlackError) throw profile;
        return { organization: undefined, ...profile, ...(await locale()) };
      },
    },
    log,
    now: () => nowMs,
  });
  async function keep(...rules: AllowlistRule[]): Promise<void> {
    const numberedRules = rules.map((rule, index) => ({ rule, number: index + 1, addedAtMs: 0 }));
    const cachedValue = await ruleStore.get({ id: "allowlist" });
    const item = { ...(cachedValue ?? noStoredRules()), rules: numberedRules };
    await (cachedValue === undefined ? ruleStore.create({ item }) : ruleStore.replace({ item }));
  }
  const isAllowed = async (changes: Partial<typeof message> = {}) =>
    (await gate.permit({ message: { ...message, ...changes }, requestId, signal })).allowed;
  return { gate, keep, isAllowed, reads };
}

describe("the right to ask", () => {
  it("lets nobody ask without a rule", async () => {
    expect(await setUp().isAllowed()).toBe(false);
  });

  it("lets in a person by a rule of the configuration without any other read", async () => {
    const { isAllowed, reads } = setUp({ allowlist: [{ channel: "C1" }, { group: "S1" }] });
    reads.get = away;
    expect(await isAllowed()).toBe(true);
    expect(calls).toEqual([]);
    await expect(isAllowed({ channel: "C2" })).rejects.toThrow("away");
  });

  it("applies stored rules within 15 seconds without reading them for every message", async () => {
    const { isAllowed, keep, reads } = setUp();
    expect([await isAllowed(), await isAllowed()]).toEqual([false, false]);
    await keep({ user: "U1" });
    nowMs += 15_000;
    expect([await isAllowed(), await isAllowed()]).toEqual([true, true]);
    await keep();
    nowMs += 15_000;
    expect(await isAllowed()).toBe(false);
    expect(reads.ruleStore).toBe(3);
  });

  it("uses the last known rules for five minutes while the store is unavailable, then lets nobody in", async () => {
    const { isAllowed, keep, reads } = setUp();
    await keep({ user: "U1" });
    await isAllowed();
    reads.get = away;
    nowMs += 5 * 60_000 - 1;
    expect([await isAllowed(), await isAllowed({ user: "U2" })]).toEqual([true, false]);
    nowMs += 1;
    await expect(isAllowed()).rejects.toThrow("away");
  });

  it("asks Slack for the members of a user group once in five minutes per installation", async () => {
    const { isAllowed, keep } = setUp({ allowlist: [{ channel: "C1", group: "S1" }] });
    await keep({ team: "T1", group: "S2" });
    groups = { S1: [], S2: ["U1"] };
    expect([await isAllowed(), await isAllowed({ user: "U2" }), await isAllowed()]).toEqual([
      true,
      false,
      true,
    ]);
    expect(calls).toEqual(
      ["S1", "S2"].map((group) => ({ group, team: "T1", enterprise: undefined })),
    );
    groups = { S1: [], S2: [] };
    nowMs += 5 * 60_000;
    expect(await isAllowed()).toBe(false);
    expect(await isAllowed({ enterprise: "E1" })).toBe(false);
    expect(calls.slice(4)).toEqual(
      ["S1", "S2"].map((group) => ({ group, team: "T1", enterprise: "E1" })),
    );
  });

  it("lets a new group member in after 15 seconds and reads each group once in that time", async () => {
    const { isAllowed, gate } = setUp({ allowlist: [{ group: "S1" }, { group: "S2" }] });
    groups = { S1: [], S2: ["U7"] };
    const isIgnored = (n: number) => gate.isIgnored({ message, requestId: `r${n}`, signal });
    const refusal = [
      await isIgnored(0),
      await gate.isStranger({ task: sampleTask(), actor: { user: "U1", userTeam: "T1" }, signal }),
      await gate.mayRefuse({
        ...{ task: sampleTask(), user: "U1", isStranger: true },
        ...{ kind: "refused", threadTs: undefined },
      }),
    ];
    expect(refusal).toEqual([false, true, true]);
    groups = { S1: ["U1"], S2: ["U7"] };
    nowMs += 14_999;
    expect([await isIgnored(1), await isAllowed({ user: "U7" })]).toEqual([true, true]);
    expect(calls).toHaveLength(2);
    nowMs += 1;
    const strangers = Array.from({ length: 50 }, (_, n) => isAllowed({ user: `U+${n}` }));
    expect(new Set(await Promise.all(strangers))).toEqual(new Set([false]));
    expect([await isIgnored(2), await isAllowed()]).toEqual([false, true]);
    expect(calls.slice(2).map(({ group }) => group)).toEqual(["S1", "S2"]);
  });

  it("reads no group again if the cached members include the person", async () => {
    const { isAllowed } = setUp({ allowlist: [{ group: "S1" }, { group: "S2" }] });
    groups = { S1: [], S2: ["U1"] };
    await isAllowed();
    nowMs += 200_000;
    expect(await isAllowed()).toBe(true);
    expect(calls).toHaveLength(2);
  });

  it("trusts a membership of the last five minutes while Slack cannot say", async () => {
    const { isAllowed } = setUp({ allowlist: [{ group: "S1" }] });
    groups = { S1: ["U1"] };
    await isAllowed();
    groups = { S1: new SlackError("rate_limited") };
    nowMs += 200_000;
    expect([await isAllowed({ user: "U2" }), await isAllowed()]).toEqual([false, true]);
    nowMs += 100_000;
    await expect(isAllowed()).rejects.toMatchObject({ kind: "rate_limited" });
  });

  it("asks Slack for a group only if the rest of its rule matches and no other rule does", async () => {
    const { isAllowed, keep } = setUp({
      allowlist: [{ group: "S1" }, { channel: "C9", group: "S2" }],
    });
    await keep({ user: "U1" });
    expect(await isAllowed()).toBe(true);
    expect(calls).toEqual([]);
  });

  it("rejects while Slack cannot say, unless another group includes the person", async () => {
    const { isAllowed } = setUp({
      allowlist: [{ group: "S1" }, { channel: "C1", group: "S2" }, { team: "T1", group: "S1" }],
    });
    for (const kind of ["rate_limited", "unavailable", "ambiguous"] as const) {
      groups = { S1: new SlackError(kind), S2: ["U1"] };
      nowMs += 5 * 60_000;
      expect(await isAllowed()).toBe(true);
      calls.length = 0;
      await expect(isAllowed({ user: "U2" })).rejects.toMatchObject({ kind });
      expect(calls.map(({ group }) => group)).toEqual(["S1"]);
      groups = { S1: ["U2"], S2: [] };
      expect(await isAllowed({ user: "U2" })).toBe(true);
    }
  });

  it("counts nobody as a member of a group that Slack refuses to show, and logs why", async () => {
    const { isAllowed } = setUp({ allowlist: [{ group: "S1" }, { group: "S2" }] });
    groups = { S1: new SlackError("gone", { slackError: "missing_scope" }) };
    expect([await isAllowed(), await isAllowed()]).toEqual([false, false]);
    expect(calls).toHaveLength(2);
    const logEntries = lines.map((line) => JSON.parse(line));
    expect(logEntries.filter(({ level }) => level === "warn")).toMatchObject([
      { message: "group_unreadable", slack_error: "missing_scope" },
      { message: "group_unreadable", slack_error: "no_such_subteam" },
    ]);
  });

  it("logs the ids of a refused person so that an operator can add a rule", async () => {
    const { isAllowed } = setUp();
    expect(await isAllowed({ user: "U2" })).toBe(false);
    const ids = { request_id: requestId, team: "T1", channel: "C1", user: "U2" };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "request_not_allowed", ...ids },
    ]);
    const { isAllowed: allowedByRule } = setUp({ allowlist: [{ team: "T1" }] });
    await allowedByRule();
    expect(lines).toHaveLength(1);
  });

  it("matches the workspace of the installation, whatever workspace the person belongs to", async () => {
    const { isAllowed } = setUp({ allowlist: [{ team: "T1" }] });
    expect([await isAllowed({ user: "W9" }), await isAllowed({ team: "T9" })]).toEqual([
      true,
      false,
    ]);
  });

  it("stops when the signal aborts", async () => {
    const { gate, reads } = setUp();
    reads.get = () => new Promise(() => {});
    const stop = new AbortController();
    const pending = gate.permit({ message, requestId, signal: stop.signal });
    stop.abort(new Error("the lease is over"));
    await expect(pending).rejects.toThrow("the lease is over");
  });
});

describe("the right to cancel", () => {
  const task = sampleTask();

  it("lets the asker cancel, and the admins by name or by group", async () => {
    const { gate } = setUp({ slack: { admins: [{ user: "U2" }, { group: "S1" }] } });
    groups = { S1: ["U3"] };
    const pending = ["U1", "U2", "U3", "U4"].map((user) =>
      gate.mayCancel({ task, person: own(user), signal }),
    );
    expect(await Promise.all(pending)).toEqual([true, true, true, false]);
    expect(calls).toHaveLength(1);
  });

  it("does not let another person cancel who may only ask there", async () => {
    const { gate } = setUp({ allowlist: [{ channel: "C1" }] });
    expect(await gate.mayCancel({ task, person: own("U2"), signal })).toBe(false);
  });
});

describe("an app in several workspaces", () => {
  const slack = { locale: "en", install: { clientId: "1.2", clientSecret: { env: "SECRET" } } };
  const bot = { ...message, user: "B2", botIds: ["B2", "A2"] };

  it.each<[string, AllowlistRule, Partial<typeof message>]>([
    ["channel", { channel: "C1" }, {}],
    ["user", { user: "U1" }, {}],
    ["group", { group: "S1" }, {}],
    ["bot", { bot: "B2" }, bot],
    ["app", { bot: "A2" }, bot],
  ])("applies a rule by %s only in the workspaces that it names", async (_kind, rule, changes) => {
    groups = { S1: ["U1"] };
    const elsewhere = { ...changes, team: "T9" };
    profiles = { U1: { workspaces: ["T1", "T9"] } };
    const allTeamsGate = setUp({ slack, allowlist: [rule] });
    expect([
      await allTeamsGate.isAllowed(changes),
      await allTeamsGate.isAllowed(elsewhere),
    ]).toEqual([false, false]);
    await allTeamsGate.keep(rule, { ...rule, team: "T2" });
    nowMs += 15_000;
    expect([
      await allTeamsGate.isAllowed(changes),
      await allTeamsGate.isAllowed(elsewhere),
    ]).toEqual([false, false]);
    await allTeamsGate.keep({ ...rule, team: "T1" });
    nowMs += 15_000;
    expect([
      await allTeamsGate.isAllowed(changes),
      await allTeamsGate.isAllowed(elsewhere),
    ]).toEqual([true, false]);
    const ofOrganization = setUp({ slack, allowlist: [{ ...rule, team: "E1" }] });
    const decisions = ["E1", "E2", undefined].map((enterprise) =>
      ofOrganization.isAllowed({ ...elsewhere, enterprise }),
    );
    expect(await Promise.all(decisions)).toEqual([true, false, false]);
    expect(await setUp({ allowlist: [rule] }).isAllowed(elsewhere)).toBe(true);
  });

  it("recognizes admins only in the workspaces that they name", async () => {
    groups = { S1: ["U3"] };
    const mayCancel = async (admins: object[], team: string) => {
      const { gate } = setUp({ slack: { ...slack, admins } });
      const task = sampleTask({ message: { ...message, team } });
      return Promise.all(
        ["U2", "U3"].map((user) => gate.mayCancel({ task, person: own(user), signal })),
      );
    };
    const bareAdmins = [{ user: "U2" }, { group: "S1" }];
    const adminsOfTeam = bareAdmins.map((admin) => ({ team: "T1", ...admin }));
    expect(await mayCancel(bareAdmins, "T1")).toEqual([false, false]);
    expect([await mayCancel(adminsOfTeam, "T1"), await mayCancel(adminsOfTeam, "T9")]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it("lets a group answer questions only in the workspace that it names", async () => {
    groups = { S1: ["U3"] };
    const mayAnswer = (answerBy: object, team: string) => {
      const far = { transport: "https", url: "http://127.0.0.1:9/rpc", questions: { answerBy } };
      const { gate } = setUp({ slack, destinations: { far }, routes: [{ destination: "far" }] });
      const task = sampleTask({
        message: { ...message, team },
        call: sampleCall({ destination: "far" }),
      });
      return gate.mayAnswer({ task, person: own("U3"), signal });
    };
    const groupAdmin = { team: "T1", group: "S1" };
    const answers = [
      mayAnswer({ group: "S1" }, "T1"),
      mayAnswer(groupAdmin, "T1"),
      mayAnswer(groupAdmin, "T9"),
    ];
    expect(await Promise.all(answers)).toEqual([false, true, false]);
  });
});

describe("a person of another workspace", () => {
  const foreign = { userTeam: "T2" };

  it("lets an outside person ask only by rules for other organizations, also in unshared channels", async () => {
    profiles = { U1: { workspaces: ["T2"] } };
    expect(
      await setUp({ allowlist: [{ channel: "C1", external: "channels" }] }).isAllowed(foreign),
    ).toBe(false);
    expect(
      await setUp({ allowlist: [{ channel: "C1", external: "people" }] }).isAllowed(foreign),
    ).toBe(true);
  });

  it("looks up a person of another workspace once in five minutes, and never one of its own workspace", async () => {
    const { isAllowed } = setUp({ allowlist: [{ channel: "C1" }] });
    profiles = { U1: { workspaces: ["T1", "T2"], organization: "E1" } };
    expect([
      await isAllowed(foreign),
      await isAllowed(foreign),
      await isAllowed({ user: "U2" }),
    ]).toEqual([true, true, true]);
    expect(calls.map(({ user }) => user)).toEqual(["U1"]);
    profiles = { U1: { workspaces: ["T2"], organization: "E1" } };
    nowMs += 5 * 60_000;
    expect(await isAllowed(foreign)).toBe(false);
  });

  it("waits while Slack is unavailable, and refuses the person and logs it if Slack refuses", async () => {
    const { isAllowed } = setUp({ allowlist: [{ channel: "C1" }] });
    profiles = { U1: new SlackError("unavailable") };
    await expect(isAllowed(foreign)).rejects.toMatchObject({ kind: "unavailable" });
    profiles = { U1: new SlackError("gone", { slackError: "missing_scope" }) };
    expect(await isAllowed(foreign)).toBe(false);
    const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === "warn");
    expect(warnings).toMatchObject([
      { message: "person_unreadable", user: "U1", slack_error: "missing_scope" },
    ]);
  });

  it("shows an outside person only the rules for other organizations", async () => {
    profiles = { U1: { workspaces: ["T2"] } };
    const people: AllowlistRule = { team: "T1", channel: "C1", external: "people" };
    const { gate } = setUp({ allowlist: [{ team: "T1" }, people] });
    const actor = { user: "U1", ...foreign };
    const access = await gate.accessOf({
      installation: { team: "T1" },
      actor,
      channels: ["C1", "C2"],
      requestId,
      signal,
    });
    expect(access).toMatchObject({ mayAsk: true, rules: [people], channels: ["C1"] });
  });
});

describe("a message in a shared channel", () => {
  it("refuses a message in a shared channel if no rule covers other organizations, and says why", async () => {
    const { gate, keep } = setUp({ allowlist: [{ channel: "C1" }] });
    profiles = { U1: { workspaces: ["T9"] } };
    const sharedMessage = { ...message, userTeam: "T9", external: "people" } as const;
    expect(await gate.permit({ message: sharedMessage, requestId, signal })).toMatchObject({
      allowed: false,
      isExternal: true,
    });
    const stranger = { ...sharedMessage, channel: "C2" };
    expect(await gate.permit({ message: stranger, requestId, signal })).toMatchObject({
      isExternal: false,
    });
    await keep({ channel: "C1", external: "channels" });
    nowMs += 15_000;
    expect(await gate.permit({ message: sharedMessage, requestId, signal })).toMatchObject({
      allowed: false,
    });
    const ofOwn = { ...message, external: "channels" } as const;
    expect(await gate.permit({ message: ofOwn, requestId, signal })).toMatchObject({
      allowed: true,
    });
  });
});

describe("a message of another bot", () => {
  const botMessage = { ...message, user: "B2", botIds: ["B2"] };

  it("drops the message of a bot without a refusal unless a rule names the bot", async () => {
    const { gate } = setUp({ allowlist: [{ team: "T1" }], slack: { locale: "user" } });
    expect(await gate.isIgnored({ message: botMessage, requestId, signal })).toBe(true);
    const botGate = setUp({ allowlist: [{ bot: "B2" }], slack: { locale: "user" } });
    expect(await botGate.gate.isIgnored({ message: botMessage, requestId, signal })).toBe(false);
    expect(await botGate.gate.permit({ message: botMessage, requestId, signal })).toEqual({
      allowed: true,
      locale: "en",
    });
    expect(calls).toEqual([]);
  });

  it("treats a person who presses buttons of a bot message as a person", async () => {
    const { gate } = setUp({ allowlist: [{ bot: "B2" }, { user: "U1" }] });
    const task = sampleTask({ message: botMessage });
    const strangers = ["U1", "U2", "B2"].map((user) =>
      gate.isStranger({ task, actor: { user, userTeam: "T1" }, signal }),
    );
    expect(await Promise.all(strangers)).toEqual([false, true, true]);
  });
});

describe("a message that another app posted with a person's token", () => {
  const botPost = { ...message, user: "U1", botIds: ["B2", "A2"] };
  const person = { workspaces: ["T1"], isBot: false };
  const may = async (allowlist: AllowlistRule[], changes: Partial<UserMessage> = {}) => {
    const { gate } = setUp({ allowlist });
    const request = { message: { ...botPost, ...changes }, requestId, signal };
    const { allowed } = await gate.permit(request);
    expect(await gate.isIgnored(request)).toBe(!allowed);
    return allowed;
  };

  it("treats the message as one of the person, and a rule for the bot needs no look-up of the person", async () => {
    profiles = { U1: person };
    expect(await may([{ user: "U1" }])).toBe(true);
    expect(await may([{ channel: botPost.channel }])).toBe(true);
    expect(await may([{ user: "U2" }])).toBe(false);
    groups = { S1: ["U1"] };
    expect(await may([{ group: "S1" }])).toBe(true);
    calls = [];
    expect(await may([{ bot: "A2" }])).toBe(true);
    expect(calls).toEqual([]);
  });

  it.each([
    ["the user is a bot user", { workspaces: ["T1"], isBot: true }],
    ["Slack does not say who the user is", { workspaces: ["T1"] }],
    ["a scope is missing", new SlackError("refused", { slackError: "missing_scope" })],
  ])("treats the message as the bot's only if %s", async (_case, profile) => {
    profiles = { U1: profile };
    expect(await may([{ user: "U1" }, { channel: botPost.channel }])).toBe(false);
  });

  it("treats the message as one of the bot without asking Slack if it has no person", async () => {
    expect(await may([{ channel: botPost.channel }], { user: "B2" })).toBe(false);
    expect(calls).toEqual([]);
  });

  it("requires a rule for people of other organizations in a shared channel", async () => {
    profiles = { U1: { workspaces: ["T9"], isBot: false } };
    const guest = { external: "people" as const, userTeam: "T9" };
    expect(await may([{ channel: botPost.channel }], guest)).toBe(false);
    expect(await may([{ channel: botPost.channel, external: "people" }], guest)).toBe(true);
  });

  it("rejects for a retry while Slack is unavailable", async () => {
    profiles = { U1: new SlackError("unavailable") };
    const { gate } = setUp({ allowlist: [{ user: "U1" }] });
    await expect(gate.permit({ message: botPost, requestId, signal })).rejects.toThrow();
  });
});

describe("the right to answer a question", () => {
  const mayAnswerAs = async (
    answerBy: unknown,
    user: string,
    destination: string | undefined = "far",
  ) => {
    const far = { transport: "https", url: "http://127.0.0.1:9/rpc", questions: { answerBy } };
    const { gate } = setUp({
      allowlist: [{ channel: "C1", user: "U1" }, { user: "U2" }],
      destinations: { far },
      routes: [{ destination: "far" }],
    });
    return gate.mayAnswer({
      task: sampleTask({ call: sampleCall({ destination }) }),
      person: own(user),
      signal,
    });
  };

  it("lets the asker, anyone who may ask there or a group answer, as the destination says", async () => {
    groups = { S1: ["U3"] };
    const answersOf: Record<string, boolean[]> = {};
    for (const [name, answerBy] of Object.entries({
      asker: "asker",
      anyone: "anyone",
      group: { group: "S1" },
    })) {
      answersOf[name] = await Promise.all(
        ["U1", "U2", "U3"].map((user) => mayAnswerAs(answerBy, user)),
      );
    }
    expect(answersOf).toEqual({
      asker: [true, false, false],
      anyone: [true, true, false],
      group: [false, false, true],
    });
  });

  it("excludes a person of another organization unless a rule lets them ask", async () => {
    const far = {
      transport: "https",
      url: "http://127.0.0.1:9/rpc",
      questions: { answerBy: "anyone" },
    };
    const { gate } = setUp({
      allowlist: [{ channel: "C1", external: "channels" }],
      destinations: { far },
      routes: [{ destination: "far" }],
    });
    const task = sampleTask({ call: sampleCall({ destination: "far" }) });
    const by = (external: "channels" | "people") =>
      gate.mayAnswer({ task, person: { user: "U2", external }, signal });
    expect([await by("channels"), await by("people")]).toEqual([true, false]);
  });

  type Rules = Pick<AgentQuestion, "answerers" | "signIn">;
  const question = { index: 0, prompt: "", options: [], askedAtMs: 0, expiresAtMs: 0 };

  /** Of U1, who asked, U2 and U3: those who may answer. U2 may ask here, and U3 is in both groups. */
  async function listAnswerers(answerBy: unknown, rules: Rules): Promise<string[]> {
    groups = { S1: ["U3"], S2: ["U1", "U3"] };
    const far = { transport: "https", url: "http://127.0.0.1:9/rpc", questions: { answerBy } };
    const { gate } = setUp({
      allowlist: [{ channel: "C1", user: "U1" }, { user: "U2" }],
      ...{ destinations: { far }, routes: [{ destination: "far" }] },
    });
    const task = sampleTask({
      call: sampleCall({ destination: "far" }),
      question: { ...question, ...rules },
    });
    const people = ["U1", "U2", "U3"];
    const decisions = await Promise.all(
      people.map((user) => gate.mayAnswer({ task, person: own(user), signal })),
    );
    return people.filter((_, index) => decisions[index]);
  }

  const group = (id: string) => ({ group: id });
  it.each<[answerBy: unknown, answerers: AgentQuestion["answerers"], expected: string[]]>([
    ["asker", "anyone", ["U1"]],
    ["asker", "not-asker", []],
    ["asker", group("S2"), ["U1"]],
    ["asker", group("S1"), []],
    ["anyone", "anyone", ["U1", "U2"]],
    ["anyone", "asker", ["U1"]],
    ["anyone", "not-asker", ["U2"]],
    ["anyone", group("S2"), ["U1"]],
    [group("S2"), "anyone", ["U1", "U3"]],
    [group("S2"), "asker", ["U1"]],
    [group("S2"), "not-asker", ["U3"]],
    [group("S2"), group("S1"), ["U3"]],
    [group("S1"), "asker", []],
  ])(
    "lets an agent narrow who may answer, and never widen it: %j and %j",
    async (answerBy, answerers, expected) => {
      expect(await listAnswerers(answerBy, { answerers })).toEqual(expected);
    },
  );

  it.each(["asker", "anyone", { group: "S1" }])(
    "lets only the asker sign in where %j may answer",
    async (answerBy) => {
      expect(await listAnswerers(answerBy, { signIn: {} })).toEqual(["U1"]);
    },
  );

  it.each([undefined, null, "admins", {}, { users: ["U1"] }, ["asker"]])(
    "lets nobody answer by the rule %j of a newer version",
    async (answerers) => {
      const expected = answerers === undefined ? ["U1", "U2"] : [];
      expect(await listAnswerers("anyone", { answerers } as never)).toEqual(expected);
    },
  );

  it("lets nobody answer for a group that Slack does not tell", async () => {
    const { gate } = setUp({ allowlist: [{ channel: "C1" }] });
    const task = sampleTask({ question: { ...question, answerers: { group: "S1" } } });
    const answer = () => gate.mayAnswer({ task, person: own("U1"), signal });
    groups = { S1: new SlackError("refused", { slackError: "missing_scope" }) };
    expect(await answer()).toBe(false);
    nowMs += 5 * 60_000;
    groups = { S1: new SlackError("unavailable") };
    await expect(answer()).rejects.toMatchObject({ kind: "unavailable" });
  });

  it("lets nobody of another organization answer for a group, and nobody with the id of the asker as another person", async () => {
    groups = { S1: ["U1", "U2"] };
    const far = {
      transport: "https",
      url: "http://127.0.0.1:9/rpc",
      questions: { answerBy: "anyone" },
    };
    const { gate } = setUp({
      allowlist: [{ channel: "C1", external: "people" }],
      ...{ destinations: { far }, routes: [{ destination: "far" }] },
    });
    const mayAnswer = (answerers: AgentQuestion["answerers"], user: string) =>
      gate.mayAnswer({
        task: sampleTask({
          call: sampleCall({ destination: "far" }),
          question: { ...question, answerers },
        }),
        person: { user, external: "people" },
        signal,
      });
    expect(await mayAnswer({ group: "S1" }, "U2")).toBe(false);
    expect(await mayAnswer("not-asker", "U1")).toBe(false);
    expect(await mayAnswer("not-asker", "U2")).toBe(true);
  });

  it("lets only the asker answer if the destination no longer exists", async () => {
    expect([
      await mayAnswerAs("anyone", "U2", "gone"),
      await mayAnswerAs("anyone", "U1", "gone"),
    ]).toEqual([false, true]);
  });
});

describe("the right to vote", () => {
  const mayVote = (rules: object, user: string, external?: "channels" | "people") =>
    setUp({ allowlist: [rules] }).gate.mayAskThere({
      task: sampleTask(),
      person: { user, external },
      signal,
    });

  it("lets those vote who may ask in the channel of the task", async () => {
    expect([await mayVote({ user: "U2" }, "U1"), await mayVote({ user: "U2" }, "U2")]).toEqual([
      false,
      true,
    ]);
    expect([
      await mayVote({ channel: "C1" }, "U9"),
      await mayVote({ channel: "C2" }, "U9"),
    ]).toEqual([true, false]);
  });

  it("excludes a person of another organization unless a rule lets them ask", async () => {
    const channels = { channel: "C1", external: "channels" };
    expect([
      await mayVote(channels, "U2", "channels"),
      await mayVote(channels, "U2", "people"),
    ]).toEqual([true, false]);
    expect(await mayVote({ channel: "C1", external: "people" }, "U2", "people")).toBe(true);
  });
});

describe("the language", () => {
  const localeOf = (gate: ReturnType<typeof setUp>["gate"], user = "U1") =>
    gate.localeOf({ installation: { team: "T1" }, user, requestId, signal });

  it("uses the configured language for everyone or the own language of each person", async () => {
    locale = async () => ({ locale: "ja-JP" });
    expect(await localeOf(setUp({ slack: { locale: "en" } }).gate)).toBe("en");
    expect(await localeOf(setUp({ slack: { locale: "ja" } }).gate)).toBe("ja");
    expect(calls).toEqual([]);
    expect(await localeOf(setUp({ slack: { locale: "user" } }).gate)).toBe("ja");
  });

  it.each([
    ["ja", "ja"],
    ["ja-JP", "ja"],
    ["JA-jp", "ja"],
    ["jam", "en"],
    ["en-GB", "en"],
    ["de-DE", "en"],
    [undefined, "en"],
  ])("maps the locale %s to the language %s", async (of, language) => {
    locale = async () => ({ locale: of });
    expect(await localeOf(setUp({ slack: { locale: "user" } }).gate)).toBe(language);
  });

  it("returns the language also with a refusal and asks for it once a day", async () => {
    locale = async () => ({ locale: "ja-JP" });
    const { gate } = setUp({ slack: { locale: "user" } });
    expect(await gate.permit({ message, requestId, signal })).toEqual({
      allowed: false,
      locale: "ja",
    });
    nowMs += 24 * 3600_000 - 1;
    expect(await localeOf(gate)).toBe("ja");
    expect(calls).toHaveLength(1);
    nowMs += 1;
    await localeOf(gate);
    expect(calls).toHaveLength(2);
  });

  it("falls back to English if Slack does not say, and asks again after a minute", async () => {
    const { gate } = setUp({ slack: { locale: "user" }, allowlist: [{ team: "T1" }] });
    locale = () => Promise.reject(new SlackError("gone", { slackError: "missing_scope" }));
    expect(await gate.permit({ message, requestId, signal })).toEqual({
      allowed: true,
      locale: "en",
    });
    expect(await localeOf(gate)).toBe("en");
    expect(calls).toHaveLength(1);
    locale = async () => ({ locale: "ja-JP" });
    nowMs += 60_000;
    expect(await localeOf(gate)).toBe("ja");
  });

  it("falls back to English if Slack takes too long or the signal aborts", async () => {
    const silent = { person: () => new Promise<never>(() => {}) };
    const language = createLocales({
      setting: "user",
      slack: silent,
      now: () => nowMs,
      maxWaitMs: 5,
    });
    const pending = { installation: { team: "T1" }, user: "U1", requestId, signal };
    expect(await language(pending)).toBe("en");
    expect(await language({ ...pending, signal: AbortSignal.abort() })).toBe("en");
  });
});

describe("the message itself", () => {
  const message: UserMessage = {
    appId: "A1",
    team: "T1",
    channel: "C1",
    user: "U1",
    ts: "1762750000.000100",
    direct: false,
    text: "hello",
  };

  describe("the routes", () => {
    const routes = [
      { team: "T1", channel: "C1", destination: ["both"] },
      { channel: "C1", destination: ["channel"] },
      { word: "deploy", destination: ["deploy", "spare"] },
      { team: "T1", destination: ["team"] },
      { destination: ["default"] },
    ];

    it.each([
      ["T1", "C1", "both"],
      ["T2", "C1", "channel"],
      ["T1", "C2", "team"],
      ["T2", "C2", "default"],
    ])(
      "routes a message of %s in %s to the first matching route: %s",
      (team, channel, destination) => {
        expect(findRoute({ routes, message: { ...message, team, channel } })).toEqual([
          destination,
        ]);
      },
    );

    it.each([
      "deploy: staging",
      "Deploy:staging",
      " deploy : x:y",
      "ＤＥＰＬＯＹ：本番",
      "deploy:",
    ])("matches the prefix deploy in %j and keeps the order of the destinations", (text) => {
      expect(
        findRoute({ routes, message: { ...message, team: "T2", channel: "C2", text } }),
      ).toEqual(["deploy", "spare"]);
    });

    it.each(["deploy staging", "please deploy: x", "deploys: x", "undeploy: x", ": deploy", ""])(
      "does not match the prefix deploy in %j",
      (text) => {
        expect(
          findRoute({ routes, message: { ...message, team: "T2", channel: "C2", text } }),
        ).toEqual(["default"]);
      },
    );

    it("reads only the beginning of the text to find a route", () => {
      const inOther = { ...message, team: "T2", channel: "C2" };
      const longest = `${" ".repeat(1000)}deploy: ${"x".repeat(40_000)}`;
      expect(findRoute({ routes, message: { ...inOther, text: longest } })).toEqual([
        "deploy",
        "spare",
      ]);
      const late = `deploy${" ".repeat(1000)}: x`;
      expect(findRoute({ routes, message: { ...inOther, text: late } })).toEqual(["default"]);
    });

    it("returns no destination if no route matches", () => {
      expect(
        findRoute({
          routes: routes.slice(0, 3),
          message: { ...message, team: "T2", channel: "C2" },
        }),
      ).toEqual([]);
      expect(findRoute({ routes: [], message })).toEqual([]);
    });
  });

  describe("the age", () => {
    const sentMs = Number(message.ts) * 1000;
    const at = (nowMs: number, receivedAtMs = nowMs) =>
      isTooOld({ ts: message.ts, receivedAtMs, nowMs });

    it("treats a message as too old when more than 24 hours have passed since the post", () => {
      expect([at(sentMs), at(sentMs + maxAgeMs), at(sentMs + maxAgeMs + 1)]).toEqual([
        false,
        false,
        true,
      ]);
    });

    it("treats a message as too old after that long in the queue, whatever its ts says", () => {
      expect(at(sentMs + 1000, sentMs - maxAgeMs)).toBe(true);
    });

    it("treats a message as too old if its ts is not a number", () => {
      expect(isTooOld({ ts: "soon", receivedAtMs: sentMs, nowMs: sentMs })).toBe(true);
    });
  });
});

describe("the rights of a person in a workspace", () => {
  const actor = { user: message.user, userTeam: "T1" };
  const person = { installation: { team: message.team }, actor, channels: [], requestId, signal };
  const accessBy = (allowlist: AllowlistRule[], slack: object = {}) =>
    setUp({ allowlist, slack: { locale: "en", ...slack } }).gate.accessOf(person);

  it.each<[string, AllowlistRule, boolean]>([
    ["that person's workspace", { team: "T1" }, true],
    ["another workspace", { team: "T2" }, false],
    ["a channel, in which they may ask", { channel: "C9" }, true],
    ["that person in a channel", { user: "U1", channel: "C9" }, true],
    ["another person", { user: "U2" }, false],
    ["another bot", { bot: "B1" }, false],
    ["a group without them", { group: "SOTHERS" }, false],
    ["that person's group in a channel", { group: "STHEIRS", channel: "C9" }, true],
  ])(
    "decides whether a person has access anywhere if a rule names %s: %j",
    async (_what, rule, mayAsk) => {
      groups = { SOTHERS: ["U2"], STHEIRS: ["U1"] };
      expect((await accessBy([rule])).mayAsk).toBe(mayAsk);
    },
  );

  it("lists the rules of the workspace and of the command line only", async () => {
    const { gate, keep } = setUp({
      allowlist: [{ team: "T1" }, { team: "T2", user: "U9" }, { channel: "C9" }],
    });
    await keep({ user: "U5" });
    expect((await gate.accessOf(person)).rules).toEqual([
      { team: "T1" },
      { channel: "C9" },
      { user: "U5" },
    ]);
  });

  it("ignores rules without a workspace if several workspaces use the app", async () => {
    const install = { clientId: "1.2", clientSecret: { env: "SECRET" } };
    const { rules } = await accessBy([{ team: "T1" }, { user: "U9" }], { install });
    expect(rules).toEqual([{ team: "T1" }]);
  });

  it("tells in which of the given channels a person may ask", async () => {
    const { gate } = setUp({
      allowlist: [{ channel: "C1" }, { channel: "C3", user: "U1" }, { channel: "C2", user: "U2" }],
    });
    const { channels } = await gate.accessOf({ ...person, channels: ["C1", "C2", "C3"] });
    expect(channels).toEqual(["C1", "C3"]);
  });

  it("reads the remaining quota of a person without changing it", async () => {
    const { gate } = setUp({ limits: { perUser: { tasks: 3, perSeconds: 3600, atOnce: 2 } } });
    expect((await gate.accessOf(person)).quota).toEqual({
      inPeriod: { left: 3, of: 3, spanMs: 3600_000 },
      atOnce: { left: 2, of: 2 },
    });
    await gate.charge({ task: sampleTask(), untilMs: nowMs + 1000 });
    const remainingUse = {
      inPeriod: { left: 2, of: 3, spanMs: 3600_000 },
      atOnce: { left: 1, of: 2 },
    };
    for (let time = 0; time < 2; time++)
      expect((await gate.accessOf(person)).quota).toEqual(remainingUse);
    expect(
      (await gate.accessOf({ ...person, actor: { ...actor, user: "U2" } })).quota.inPeriod?.left,
    ).toBe(3);
  });

  it("tells when the next task is possible once the quota is used up", async () => {
    const { gate } = setUp({ limits: { perUser: { tasks: 1, perSeconds: 60 } } });
    await gate.charge({ task: sampleTask(), untilMs: nowMs + 1000 });
    expect((await gate.accessOf(person)).quota).toEqual({
      inPeriod: { left: 0, of: 1, spanMs: 60_000, freeAtMs: nowMs + 60_000 },
    });
  });
});
