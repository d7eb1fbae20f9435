/** People of other workspaces: what they do with buttons, forms and words counts only where a rule names them. */
import { describe, expect, it } from "@jest/globals";
import { type AllowlistRule, configFields } from "@sekisho/config/schema.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { QuestionField } from "@sekisho/contracts/question-fields.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createGate } from "@sekisho/verification/gate/gate.ts";
import { parseUsage } from "@sekisho/verification/gate/quotas.ts";
import { parseRefusalRecord } from "@sekisho/verification/gate/refusals.ts";
import { parseStoredRules } from "@sekisho/verification/gate/rules.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { ButtonClick, UserMessage } from "@sekisho/verification/task/messages.ts";
import { buttonRetryIdOf } from "@sekisho/verification/task/retry.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk } from "../task/sample.ts";

const ask = sampleAsk();
const { requestId } = ask;
const fields: QuestionField[] = [
  {
    id: "region",
    label: "Region",
    type: "choice",
    required: true,
    options: [{ id: "eu", label: "Europe" }],
  },
];
const options = [{ id: "yes", label: "Deploy" }];

type Profile = { workspaces: string[]; organization?: string } | SlackError;

/** `payloadTeam` is the workspace of the payload, which in a shared channel is the installation's. */
type Origin = {
  userTeam?: string;
  payloadTeam?: string;
  profile: Profile;
  /** Beside the rule that lets everyone in the channel ask. */
  rules?: AllowlistRule[];
  /** Of the task's message. */
  message?: Partial<UserMessage>;
};

type World = ReturnType<typeof createWorld>;
type WorldOptions = Parameters<typeof createWorld>[0];
type Actor = { user: string; team: string; enterprise?: string; userTeam?: string };

function worldOf({ profile, rules = [], message = {} }: Origin, options: WorldOptions): World {
  const record = { parse: parseUsage };
  const gate = createGate({
    config: configFields.parse({
      slack: { locale: "en", admins: [{ user: "UADMIN" }] },
      allowlist: [{ channel: "C1", external: "channels" }, ...rules],
      destinations: { host: { transport: "in-process", questions: { answerBy: "anyone" } } },
      routes: [{ destination: "host" }],
    }),
    ruleStore: createMemoryTaskStore({ parse: parseStoredRules }),
    usageStore: createMemoryTaskStore(record),
    refusalStore: createMemoryTaskStore({ parse: parseRefusalRecord }),
    slack: {
      groupMembers: async () => [],
      async person() {
        if (profile instanceof SlackError) throw profile;
        return { locale: undefined, organization: undefined, ...profile };
      },
    },
    log: silentLog,
    now: () => askedAtMs,
  });
  const { identify, isStranger, mayAskThere, mayAnswer, mayCancel } = gate;
  const world = createWorld({
    gate: { identify, isStranger, mayAskThere, mayAnswer, mayCancel },
    ...options,
  });
  world.deliver({ ...ask, message: { ...ask.message, ...message } });
  return world;
}

async function askedBy(world: World): Promise<World> {
  const record = () => world.records.get(requestId);
  await world.run({
    until: () => record()?.question?.ts !== undefined && record()?.lease === undefined,
  });
  return world;
}

const whileWorking = { pollsUntilDone: 1000, cancelable: true };

async function atWork(world: World): Promise<World> {
  await world.run({ until: () => world.records.get(requestId)?.state === "waiting" });
  return world;
}

const inThread = { channel: "C1", threadTs: ask.message.ts };
const click = (
  actor: Actor,
  button: ButtonClick["button"],
  changes: Partial<ButtonClick> = {},
): ButtonClick => ({
  ...{
    type: "button_click",
    requestId,
    ...inThread,
    ...actor,
    atMs: askedAtMs + 60_000,
    button,
    ...changes,
  },
});
const isCanceled = ({ records }: World) => records.get(requestId)?.cancelReason !== undefined;
async function isSoonCanceled(world: World): Promise<boolean> {
  await world.handleDue();
  await world.handleDue();
  return isCanceled(world);
}

/** In a shared channel, Slack may name no workspace of a message's writer. */
const numberedReply = ({ team, userTeam, ...actor }: Actor, text: string) =>
  numberedAsk(7, {
    ...{
      ...actor,
      team,
      text,
      threadTs: ask.message.ts,
      ts: `${askedAtMs / 1000 + 70}.000100`,
      unaddressed: true,
    },
    ...(userTeam === undefined && { external: "people" }),
    ...(userTeam !== undefined && userTeam !== team && { userTeam }),
  });

type Kind = {
  name: string;
  /** Whose it would count if Slack named them as one of the workspace. */
  user: string;
  options: WorldOptions;
  act: (world: World, actor: Actor) => Promise<boolean>;
};

const kinds: Kind[] = [
  {
    name: "the button of an option",
    user: "U5",
    options: { questions: [{ prompt: "Deploy?", options }] },
    async act(world, actor) {
      await (await askedBy(world))
        .clickButton(click(actor, { type: "answer", question: 0, option: 0 }))
        .run({ maxSteps: 3 });
      return world.replies.length > 0;
    },
  },
  {
    name: "the button of a form",
    user: "U5",
    options: { questions: [{ prompt: "Where?", fields }] },
    async act(world, actor) {
      const button = { type: "open_form", question: 0, triggerId: "1.1.a" } as const;
      await (await askedBy(world)).clickButton(click(actor, button)).run({ maxSteps: 1 });
      return world.modals.length > 0;
    },
  },
  {
    name: "a form",
    user: "U5",
    options: { questions: [{ prompt: "Where?", fields }] },
    async act(world, actor) {
      const submissionId = "00000000-0000-5000-8000-00000000000a";
      const form = {
        requestId,
        ...actor,
        atMs: askedAtMs + 65_000,
        question: 0,
        values: { 0: "0" },
        submissionId,
      };
      await (await askedBy(world))
        .interact({ type: "form_submitted", ...form })
        .run({ maxSteps: 3 });
      return world.replies.length > 0;
    },
  },
  {
    name: "a reply in words",
    user: "U5",
    options: { questions: [{ prompt: "Deploy?", options }] },
    async act(world, actor) {
      await (await askedBy(world)).deliver(numberedReply(actor, "Yes")).run({ maxSteps: 6 });
      return world.replies.length > 0;
    },
  },
  ...["U1", "UADMIN"].flatMap((user): Kind[] => [
    {
      name: `the button to cancel, by ${user}`,
      user,
      options: whileWorking,
      async act(world, actor) {
        (await atWork(world)).clickButton(click(actor, { type: "cancel" }));
        return isSoonCanceled(world);
      },
    },
    {
      name: `the word cancel, by ${user}`,
      user,
      options: whileWorking,
      async act(world, actor) {
        await (await atWork(world)).deliver(numberedReply(actor, "cancel")).run({ maxSteps: 6 });
        return isCanceled(world);
      },
    },
    {
      name: `Slack's stop button, by ${user}`,
      user,
      options: whileWorking,
      async act(world, actor) {
        const sessionStopped = {
          type: "session_stopped",
          requestId: numberedAsk(8).requestId,
          streams: [] as string[],
        } as const;
        (await atWork(world)).interact({ ...sessionStopped, ...inThread, ...actor });
        return isSoonCanceled(world);
      },
    },
  ]),
  {
    name: "the button to cancel of the App Home",
    user: "U1",
    options: whileWorking,
    async act(world, actor) {
      const { channel: _channel, threadTs: _thread, ...home } = click(actor, { type: "cancel" });
      (await atWork(world)).clickButton(home);
      return isSoonCanceled(world);
    },
  },
  {
    name: "a vote",
    user: "U5",
    options: {},
    async act(world, actor) {
      await world.run();
      await world.clickButton(click(actor, { type: "feedback", vote: "down" })).run();
      return world.votes.length > 0;
    },
  },
  {
    name: "the button to try again",
    user: "U1",
    options: {
      story() {
        throw new SekishoError("execution_failed");
      },
    },
    async act(world, actor) {
      await world.run();
      await world.clickButton(click(actor, { type: "retry" })).run({ maxSteps: 2 });
      return world.records.has(buttonRetryIdOf({ id: requestId }));
    },
  },
];

const sharedMessage = { external: "channels" } as const;
const inOrganization = { enterprise: "E1" };
const colleague = { userTeam: "T3", profile: { workspaces: ["T3"], organization: "E1" } };
/** Somebody's rule, so that it names a workspace and lets in nobody here. */
const ruleOf = (team: string): AllowlistRule => ({ team, user: "USOMEBODY" });

const origins: Record<string, Origin & { counts: boolean }> = {
  "one of the workspace": { userTeam: "T1", profile: new SlackError("refused"), counts: true },
  "one of the workspace, in a shared channel": {
    userTeam: "T1",
    message: sharedMessage,
    profile: new SlackError("refused"),
    counts: true,
  },
  "somebody whom only Slack's profile names": { profile: { workspaces: ["T1"] }, counts: true },
  "a member with another home workspace": {
    userTeam: "T3",
    profile: { workspaces: ["T3", "T1"], organization: "E1" },
    counts: true,
  },
  "somebody of another workspace": {
    userTeam: "T2",
    profile: { workspaces: ["T2"] },
    counts: false,
  },
  "somebody of another workspace that the payload names": {
    ...{ userTeam: "T2", payloadTeam: "T2" },
    profile: { workspaces: ["T2"] },
    counts: false,
  },
  "somebody of another workspace, in a shared channel": {
    ...{ userTeam: "T2", message: sharedMessage },
    profile: { workspaces: ["T2"] },
    counts: false,
  },
  "somebody of another workspace that has rules of its own": {
    ...{ userTeam: "T2", rules: [{ team: "T2" }] },
    profile: { workspaces: ["T2"] },
    counts: false,
  },
  "somebody of another organization": {
    userTeam: "E2",
    profile: { workspaces: ["T2"], organization: "E2" },
    counts: false,
  },
  "somebody of another organization, where both have rules": {
    ...{
      userTeam: "T2",
      message: inOrganization,
      rules: [ruleOf("E1"), ruleOf("E2"), ruleOf("T2")],
    },
    profile: { workspaces: ["T2"], organization: "E2" },
    counts: false,
  },
  "somebody whose profile is of another workspace": {
    profile: { workspaces: ["T2"] },
    counts: false,
  },
  "somebody whose profile contradicts the payload": {
    userTeam: "T2",
    profile: { workspaces: ["T1"] },
    counts: false,
  },
  "somebody whose profile Slack refuses": {
    userTeam: "T3",
    profile: new SlackError("refused"),
    counts: false,
  },
  "a colleague whom no rule names": { ...colleague, message: inOrganization, counts: false },
  "a colleague whose workspace a rule names": {
    ...{ ...colleague, message: inOrganization, rules: [ruleOf("T3")] },
    counts: true,
  },
  "a colleague whose organization a rule names": {
    ...{ ...colleague, message: inOrganization, rules: [ruleOf("E1")] },
    counts: true,
  },
  "a colleague, where the app is only in the workspace": {
    ...{ ...colleague, rules: [ruleOf("T3"), ruleOf("E1")] },
    counts: false,
  },
};

describe.each(kinds)("$name", ({ user, options: given, act }) => {
  it.each(Object.entries(origins))(
    "accepts or refuses an act by %s as the rules for other organizations say",
    async (_origin, { counts, ...origin }) => {
      const { userTeam, payloadTeam = "T1", message: { enterprise } = {} } = origin;
      const actor = {
        ...{ user, team: payloadTeam },
        ...(enterprise !== undefined && { enterprise }),
        ...(userTeam !== undefined && { userTeam }),
      };
      expect(await act(worldOf(origin, given), actor)).toBe(counts);
    },
  );
});

describe("a rule for other organizations", () => {
  const people: AllowlistRule[] = [{ channel: "C1", external: "people" }];
  const origin: Origin = {
    userTeam: "T2",
    profile: { workspaces: ["T2"] },
    rules: people,
    message: sharedMessage,
  };
  const actor = (user: string) => ({ user, team: "T1", userTeam: "T2" });

  it("lets people of other organizations answer and vote, but not cancel tasks of others", async () => {
    const actCounts = await Promise.all(
      kinds.map(async ({ name, user, options: given, act }) => [
        name,
        await act(worldOf(origin, given), actor(user)),
      ]),
    );
    const allowedActs = actCounts.flatMap(([name, counts]) => (counts === true ? [name] : []));
    expect(allowedActs).toEqual([
      "the button of an option",
      "the button of a form",
      "a form",
      "a reply in words",
      "a vote",
    ]);
  });

  it("lets a person of another organization cancel and retry their own tasks", async () => {
    const outsiderOrigin: Origin = { ...origin, message: { external: "people", userTeam: "T2" } };
    for (const { user, name, options: given, act } of kinds.filter((kind) => kind.user === "U1")) {
      expect([name, await act(worldOf(outsiderOrigin, given), actor(user))]).toEqual([name, true]);
    }
  });
});

describe("Slack's stop button that ended a stream", () => {
  it.each([
    ["T1", true],
    ["T2", false],
  ])(
    "accepts a stop click of a person from workspace %s as a cancel: %s",
    async (userTeam, counts) => {
      const world = worldOf({ profile: { workspaces: [userTeam] } }, whileWorking);
      await atWork(world);
      const record = world.records.get(requestId);
      if (record === undefined) throw new Error("There is no record.");
      const ts = "1760000009.000100";
      const stream = { messages: [{ ts, startedAtMs: askedAtMs }], length: 1 };
      world.records.set(requestId, { ...record, stream });
      const sessionStopped = {
        type: "session_stopped",
        requestId: numberedAsk(8).requestId,
        streams: [ts] as string[],
      } as const;
      world.interact({ ...sessionStopped, ...inThread, team: "T1", user: "U5", userTeam });
      expect(await isSoonCanceled(world)).toBe(counts);
    },
  );
});
