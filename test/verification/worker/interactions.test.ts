/** People who may not ask: what they hear, where, and what their messages cost. */
import { describe, expect, it } from "@jest/globals";
import { configFields } from "@sekisho/config/schema.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createGate } from "@sekisho/verification/gate/gate.ts";
import { parseUsage } from "@sekisho/verification/gate/quotas.ts";
import {
  maxNoticesPerUser,
  parseRefusalRecord,
  refusalWindowMs,
} from "@sekisho/verification/gate/refusals.ts";
import { parseStoredRules } from "@sekisho/verification/gate/rules.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { SlackErrorKind } from "@sekisho/verification/task/events.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { postRefusalOnce } from "@sekisho/verification/worker/acts/permit.ts";
import { createNotify } from "@sekisho/verification/worker/notices.ts";
import {
  createFaults,
  type FaultOf,
  failing,
  faultKinds,
  nthFault,
  type Operation,
} from "../../world/faults.ts";
import { worldGate, worldText } from "../../world/people.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { createWorldSlack } from "../../world/slack.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleTask } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const refusalText = '{"type":"refused"}';

/** Only U1 and U2 may ask. `operations` has what was done beside the gate. */
function setUp({
  fault = () => undefined,
  limits = {},
}: {
  fault?: FaultOf;
  limits?: object;
} = {}) {
  const operations: string[] = [];
  let clock = () => askedAtMs;
  const now = () => clock();
  const gate = createGate({
    config: configFields.parse({
      slack: { locale: "en" },
      allowlist: [{ user: "U1" }, { user: "U2" }],
      limits,
    }),
    ruleStore: createMemoryTaskStore({ parse: parseStoredRules, now }),
    usageStore: createMemoryTaskStore({ parse: parseUsage, now }),
    refusalStore: createMemoryTaskStore({ parse: parseRefusalRecord, now }),
    slack: {
      groupMembers: async () => [],
      person: async () => ({ locale: undefined, workspaces: ["T1"], organization: undefined }),
    },
    log: silentLog,
    now,
  });
  const { permit, identify, isIgnored, isStranger, mayRefuse, mayCancel, charge, release } = gate;
  const world = createWorld({
    gate: { permit, identify, isIgnored, isStranger, mayRefuse, mayCancel, charge, release },
    cancelable: true,
    fault(operation) {
      if (operation.party !== "gate") operations.push(`${operation.party} ${operation.name}`);
      return fault(operation);
    },
  });
  clock = world.now;
  return { world, operations };
}

/** A message of somebody; `n` tells them apart. */
function say(n: number, message: Partial<UserMessage> = {}) {
  return numberedAsk(n, { ts: `${askedAtMs / 1000 + n / 100}`, user: "USTRANGER", ...message });
}

describe("forty mentions by a person who may not ask", () => {
  it("causes one ephemeral message to the person and no post for forty mentions", async () => {
    const { world } = setUp();
    for (let n = 1; n <= 40; n++) world.deliver(say(n));
    await world.run();
    expect(world.ephemeralMessages).toEqual([
      { user: "USTRANGER", channel: "C1", threadTs: undefined, text: refusalText },
    ]);
    expect([world.posts, world.starts]).toEqual([[], []]);
    // What was told has its record, so that an operator can find its reference.
    expect([...world.records.values()].map(({ state, outcome }) => [state, outcome?.type])).toEqual(
      [["done", "refused"]],
    );
  });

  it("needs one read and no queue message for each further mention", async () => {
    const { world, operations } = setUp();
    await world.deliver(say(1)).run();
    operations.length = 0;
    for (let n = 2; n <= 40; n++) world.deliver(say(n));
    world.deliver(say(50, { user: "U1" }));
    let handledCount = 0;
    await world.run({ until: () => handledCount++ === 39 });
    expect(operations).toEqual(Array.from({ length: 39 }, () => "store get"));
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("repeats a refusal after 15 minutes", async () => {
    const { world } = setUp();
    await world.deliver(say(1)).run();
    world.pass(refusalWindowMs);
    for (const n of [2, 3]) world.deliver(say(n));
    await world.run();
    expect(world.ephemeralMessages).toHaveLength(2);
  });
});

describe("a refusal", () => {
  it("shows a refusal at most once after any fault", async () => {
    for (const fault of faultKinds) {
      for (let nth = 0; nth < 12; nth++) {
        const { world } = setUp({ fault: nthFault(nth, fault) });
        await world.deliver(say(1)).run();
        expect({
          fault,
          nth,
          told: world.ephemeralMessages.length <= 1,
          posts: world.posts.length,
        }).toEqual({
          fault,
          nth,
          told: true,
          posts: 0,
        });
        for (const { state, cleanupDone } of world.records.values())
          expect([state, cleanupDone]).toEqual(["done", true]);
      }
    }
  });

  it("posts a refusal in a direct message under the same limit", async () => {
    const { world } = setUp();
    for (const n of [1, 2, 3]) world.deliver(say(n, { direct: true, channel: "D1" }));
    await world.run();
    expect(world.posts).toMatchObject([
      { channel: "D1", threadTs: say(1).message.ts, text: refusalText },
    ]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("shows a refusal in the thread of its message", async () => {
    const { world } = setUp();
    await world.deliver(say(1, { threadTs: "1.1" })).run();
    expect(world.ephemeralMessages).toMatchObject([{ threadTs: "1.1" }]);
  });

  it("shows a refusal of a command under the same limit", async () => {
    const { world } = setUp();
    for (const n of [1, 2]) world.deliver(say(n, { command: true }));
    await world.run();
    await world.deliver(say(5)).run();
    expect(world.ephemeralMessages).toHaveLength(1);
    expect(world.posts).toEqual([]);
  });

  it("ignores an unaddressed reply without a refusal", async () => {
    const { world } = setUp();
    await world.deliver(say(1, { user: "U1" })).run();
    await world.deliver(say(200, { threadTs: say(1).message.ts, unaddressed: true })).run();
    expect(world.ephemeralMessages).toEqual([]);
    expect(world.records.size).toBe(1);
  });
});

describe("messages of a person who may ask, which become no task", () => {
  const limits = { perUser: { tasks: 1, perSeconds: 3600 } };
  const kinds: [string, Partial<UserMessage>, string][] = [
    ["over a quota", {}, "limited"],
    ["over a quota, as commands", { command: true }, "limited"],
    ["over a quota, in one thread", { threadTs: say(1).message.ts }, "limited"],
    [
      "over a quota, not to the bot in its thread",
      { threadTs: say(1).message.ts, unaddressed: true },
      "limited",
    ],
    ["without words", { text: "" }, "invalid_params"],
    ["too long", { text: "a".repeat(40_001) }, "payload_too_large"],
    ["that cancel nothing", { text: "cancel" }, "canceling"],
  ];

  it.each(kinds)(
    "notifies the person once, and again after 15 minutes: %s",
    async (_, message, type) => {
      const { world } = setUp({ limits });
      await world.deliver(say(1, { user: "U1" })).run();
      const posts = [...world.posts];
      for (let n = 1000; n < 1040; n++) world.deliver(say(n, { user: "U1", ...message }));
      await world.run();
      expect(world.ephemeralMessages.map(({ user, text }) => [user, text.includes(type)])).toEqual([
        ["U1", true],
      ]);
      world.pass(refusalWindowMs);
      await world.deliver(say(100_000, { user: "U1", ...message })).run();
      expect(world.ephemeralMessages).toHaveLength(2);
      expect(world.posts).toEqual(posts);
      expect(world.starts).toHaveLength(1);
    },
  );

  it("limits notices to ten per person, apart from the refusal of a stranger", async () => {
    const { world } = setUp({ limits });
    await world.deliver(say(1, { user: "U1" })).run();
    for (let n = 1000; n < 1040; n++) {
      await world.deliver(say(n, { user: "U1", threadTs: `${askedAtMs / 1000 - n}` })).run();
    }
    expect(world.ephemeralMessages).toHaveLength(maxNoticesPerUser);
    await world.deliver(say(2000)).run();
    expect(world.ephemeralMessages.at(-1)).toMatchObject({ user: "USTRANGER", text: refusalText });
  });
});

describe("buttons", () => {
  async function clickAs(user: string): Promise<string[]> {
    const { world } = setUp({});
    const { requestId } = say(1);
    await world.deliver(say(1, { user: "U1" })).run();
    for (let times = 0; times < 10; times++)
      world.clickButton(sampleClick({ type: "cancel" }, { requestId, user }));
    await world.run();
    return world.ephemeralMessages.map(({ text }) => text);
  }

  it("answers repeated clicks of a stranger once", async () => {
    expect(await clickAs("USTRANGER")).toEqual(['{"type":"not_yours"}']);
  });

  it("answers repeated clicks of an allowed person once", async () => {
    expect(await clickAs("U1")).toEqual(['{"type":"over"}']);
    expect(await clickAs("U2")).toEqual(['{"type":"not_yours"}']);
  });
});

const { signal } = new AbortController();

async function refusedWhere(kind: SlackErrorKind): Promise<unknown[]> {
  const isWhisper = ({ name }: Operation) => name === "postEphemeral";
  const { operate } = createFaults({
    async fault(operation) {
      // The refusal counts as shown when Slack has taken it.
      await new Promise(setImmediate);
      return failing(new SlackError(kind), isWhisper)(operation);
    },
    now: Date.now,
  });
  const process = { isAlive: true };
  const slack = createWorldSlack({ operate, now: Date.now, newTs: () => "1.0" });
  const gate = worldGate({ operate, process, running: new Set(), rules: {} });
  const task = sampleTask({ outcome: { type: "refused" } });
  await postRefusalOnce({
    slack: slack.api(process),
    notify: createNotify({ gate }),
    task,
    text: worldText,
    signal,
  });
  return slack.posts.map(({ channel, threadTs, text }) => [channel, threadTs, text]);
}

describe("a refusal that the channel does not show", () => {
  it.each(["gone", "refused"] as const)(
    "sends a refusal directly if the channel cannot show it: %s",
    async (kind) => {
      expect(await refusedWhere(kind)).toEqual([["DU1", undefined, '{"type":"refused"}']]);
    },
  );

  it.each(["rate_limited", "unavailable", "ambiguous"] as const)(
    "never repeats a refusal after the error %s",
    async (kind) => {
      expect(await refusedWhere(kind)).toEqual([]);
    },
  );
});

describe("notices on their way to Slack", () => {
  const allowedNotice = {
    task: sampleTask(),
    actor: { user: "U1" },
    kind: "over",
    threadTs: undefined,
  };
  const stranger = { ...allowedNotice, actor: { user: "USTRANGER" } };

  /** Posts stay under way until they are ended. */
  function setUp() {
    const claims: string[] = [];
    const posts: (() => void)[] = [];
    const notify = createNotify({
      gate: {
        isStranger: async ({ actor }) => actor.user === "USTRANGER",
        mayRefuse: async ({ user }) => claims.push(user) > 0,
      },
    });
    const tell = (notice: typeof allowedNotice, stop = signal) =>
      notify({
        ...notice,
        signal: stop,
        post: () => new Promise<void>((resolve) => posts.push(resolve)),
      });
    return { tell, claims, posts };
  }

  async function until(isDone: () => boolean): Promise<void> {
    while (!isDone()) await new Promise(setImmediate);
  }

  it("posts four notices to strangers at a time and drops others without counting them", async () => {
    const { tell, claims, posts } = setUp();
    const notices = Array.from({ length: 20 }, () => tell(stranger));
    await Promise.all(notices.slice(4));
    expect([posts.length, claims.length]).toEqual([4, 4]);
    for (const end of posts) end();
    await Promise.all(notices);
    const next = tell(stranger);
    await until(() => posts.length === 5);
    posts[4]?.();
    await next;
  });

  it("posts notices to allowed people beside those to strangers, four at a time", async () => {
    const { tell, claims, posts } = setUp();
    const notices = Array.from({ length: 20 }, () => tell(stranger));
    await Promise.all(notices.slice(4));
    notices.push(...Array.from({ length: 6 }, () => tell(allowedNotice)));
    await until(() => posts.length === 8);
    await new Promise(setImmediate);
    expect([posts.length, claims.filter((user) => user === "U1").length]).toEqual([8, 4]);
    for (const end of posts.splice(0)) end();
    await until(() => posts.length === 2);
    for (const end of posts) end();
    await Promise.all(notices);
    expect(claims.filter((user) => user === "U1")).toHaveLength(6);
  });

  it.each([
    ["a stranger's", stranger],
    ["another's", allowedNotice],
  ])("ends a notice with its step and frees its place: %s", async (_whose, notice) => {
    const { tell, posts } = setUp();
    for (let n = 0; n < 5; n++) {
      const stop = new AbortController();
      const notification = tell(notice, stop.signal);
      await until(() => posts.length === n + 1);
      stop.abort(new Error("the lease is over"));
      await expect(notification).rejects.toThrow("the lease is over");
    }
  });

  it("drops a waiting notice when its step ends", async () => {
    const { tell, posts } = setUp();
    const notices = Array.from({ length: 4 }, () => tell(allowedNotice));
    await until(() => posts.length === 4);
    const stop = new AbortController();
    const waiting = tell(allowedNotice, stop.signal);
    stop.abort(new Error("the lease is over"));
    await expect(waiting).rejects.toThrow("the lease is over");
    for (const end of posts) end();
    await Promise.all(notices);
    expect(posts).toHaveLength(4);
  });
});
