/** People who may not ask: what they hear, where, and what their messages cost. */
import { describe, expect, it } from "@jest/globals";
import { configSchema } from "../../../lambdas/shared/config/cross-checks.ts";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createGate, parseUsage } from "../../../lambdas/verification/gate/gate.ts";
import { maxNoticesPerUser, parseRefusalRecord, refusalWindowMs } from "../../../lambdas/verification/gate/refusals.ts";
import { parseStoredRules } from "../../../lambdas/verification/gate/rules.ts";
import type { ButtonClick, UserMessage } from "../../../lambdas/verification/task/messages.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

type Fates = NonNullable<NonNullable<Parameters<typeof createWorld>[0]>["fate"]>;

const refused = '{"type":"refused"}';

/** Only U1 and U2 may ask. `operations` has what was done beside the gate. */
function setUp({ fate = () => "ok", limits = {} }: { fate?: Fates; limits?: object } = {}) {
  const operations: string[] = [];
  let clock = () => askedAtMs;
  const now = () => clock();
  const gate = createGate({
    config: configSchema.parse({ slack: { locale: "en" }, allowlist: [{ user: "U1" }, { user: "U2" }], limits }),
    ruleStore: createMemoryTaskStore({ parse: parseStoredRules, now }),
    usageStore: createMemoryTaskStore({ parse: parseUsage, now }),
    refusalStore: createMemoryTaskStore({ parse: parseRefusalRecord, now }),
    slack: { groupMembers: async () => [], person: async () => ({ locale: undefined }) },
    log: silentLog,
    now,
  });
  const { permit, isIgnored, isStranger, mayRefuse, mayCancel, charge, release } = gate;
  const world = createWorld({
    gate: { permit, isIgnored, isStranger, mayRefuse, mayCancel, charge, release },
    cancelable: true,
    fate(operation) {
      if (operation.party !== "gate") operations.push(`${operation.party} ${operation.name}`);
      return fate(operation);
    },
  });
  clock = world.now;
  return { world, operations };
}

/** A message of somebody; `n` tells them apart. */
function say(n: number, message: Partial<UserMessage> = {}) {
  const asked = sampleAsk({ ts: `${askedAtMs / 1000 + n / 100}`, user: "USTRANGER", ...message });
  return { ...asked, requestId: `00000000-0000-5000-8000-${String(n).padStart(12, "0")}` };
}

describe("forty mentions by a person who may not ask", () => {
  it("cause one message that this person alone sees, and no post", async () => {
    const { world } = setUp();
    for (let n = 1; n <= 40; n++) world.deliver(say(n));
    await world.run();
    expect(world.ephemeralMessages).toEqual([{ user: "USTRANGER", channel: "C1", threadTs: undefined, text: refused }]);
    expect([world.posts, world.starts]).toEqual([[], []]);
    // What was told has its record, so that an operator can find its reference.
    expect([...world.records.values()].map(({ state, outcome }) => [state, outcome?.type])).toEqual([
      ["done", "refused"],
    ]);
  });

  it("cost one read each, and no second message of the queue, before and after an allowed person's", async () => {
    const { world, operations } = setUp();
    world.deliver(say(1));
    await world.run();
    operations.length = 0;
    for (let n = 2; n <= 40; n++) world.deliver(say(n));
    world.deliver(say(50, { user: "U1" }));
    let handled = 0;
    await world.run({ until: () => handled++ === 39 });
    expect(operations).toEqual(Array.from({ length: 39 }, () => "store get"));
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("are told once more after a quarter of an hour", async () => {
    const { world } = setUp();
    world.deliver(say(1));
    await world.run();
    world.pass(refusalWindowMs);
    for (const n of [2, 3]) world.deliver(say(n));
    await world.run();
    expect(world.ephemeralMessages).toHaveLength(2);
  });
});

describe("a refusal", () => {
  it("is told at most once, whatever happens on the way", async () => {
    for (const fate of ["refused", "lost", "done_unknown", "late", "dies_before", "dies_after"] as const) {
      for (let nth = 0; nth < 12; nth++) {
        let seen = 0;
        const { world } = setUp({ fate: () => (seen++ === nth ? fate : "ok") });
        world.deliver(say(1));
        await world.run();
        expect({ fate, nth, told: world.ephemeralMessages.length <= 1, posts: world.posts.length }).toEqual({
          fate,
          nth,
          told: true,
          posts: 0,
        });
        for (const { state, cleanupDone } of world.records.values())
          expect([state, cleanupDone]).toEqual(["done", true]);
      }
    }
  });

  it("is a message in a direct message, under the same limit", async () => {
    const { world } = setUp();
    for (const n of [1, 2, 3]) world.deliver(say(n, { direct: true, channel: "D1" }));
    await world.run();
    expect(world.posts).toMatchObject([{ channel: "D1", threadTs: say(1).message.ts, text: refused }]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("is in the thread of a message that is in one", async () => {
    const { world } = setUp();
    world.deliver(say(1, { threadTs: "1.1" }));
    await world.run();
    expect(world.ephemeralMessages).toMatchObject([{ threadTs: "1.1" }]);
  });

  it("of a command is told there as well, under the same limit", async () => {
    const { world } = setUp();
    for (const n of [1, 2]) world.deliver(say(n, { command: true }));
    await world.run();
    world.deliver(say(5));
    await world.run();
    expect(world.ephemeralMessages).toHaveLength(1);
    expect(world.posts).toEqual([]);
  });

  it("is silence for a reply that does not speak to the bot", async () => {
    const { world } = setUp();
    world.deliver(say(1, { user: "U1" }));
    await world.run();
    world.deliver(say(200, { threadTs: say(1).message.ts, unaddressed: true }));
    await world.run();
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
    ["over a quota, not to the bot in its thread", { threadTs: say(1).message.ts, unaddressed: true }, "limited"],
    ["without words", { text: "" }, "invalid_params"],
    ["too long", { text: "a".repeat(40_001) }, "payload_too_large"],
    ["that cancel nothing", { text: "cancel" }, "canceling"],
  ];

  it.each(kinds)(
    "are told once to that person alone, and again after a quarter of an hour: %s",
    async (_, message, type) => {
      const { world } = setUp({ limits });
      world.deliver(say(1, { user: "U1" }));
      await world.run();
      const posts = [...world.posts];
      for (let n = 1000; n < 1040; n++) world.deliver(say(n, { user: "U1", ...message }));
      await world.run();
      expect(world.ephemeralMessages.map(({ user, text }) => [user, text.includes(type)])).toEqual([["U1", true]]);
      world.pass(refusalWindowMs);
      world.deliver(say(100_000, { user: "U1", ...message }));
      await world.run();
      expect(world.ephemeralMessages).toHaveLength(2);
      expect(world.posts).toEqual(posts);
      expect(world.starts).toHaveLength(1);
    },
  );

  it("are told ten times in many threads, and a stranger's refusal is told besides", async () => {
    const { world } = setUp({ limits });
    world.deliver(say(1, { user: "U1" }));
    await world.run();
    for (let n = 1000; n < 1040; n++) {
      world.deliver(say(n, { user: "U1", threadTs: `${askedAtMs / 1000 - n}` }));
      await world.run();
    }
    expect(world.ephemeralMessages).toHaveLength(maxNoticesPerUser);
    world.deliver(say(2000));
    await world.run();
    expect(world.ephemeralMessages.at(-1)).toMatchObject({ user: "USTRANGER", text: refused });
  });
});

describe("buttons", () => {
  const buttonClick = {
    type: "button_click",
    team: "T1",
    channel: "C1",
    atMs: askedAtMs,
    button: { type: "cancel" },
  } as const;

  async function clicked(user: string): Promise<string[]> {
    const { world } = setUp({});
    const { requestId } = say(1);
    world.deliver(say(1, { user: "U1" }));
    await world.run();
    const buttonClicks: ButtonClick[] = Array.from({ length: 10 }, () => ({ ...buttonClick, requestId, user }));
    for (const each of buttonClicks) world.clickButton(each);
    await world.run();
    return world.ephemeralMessages.map(({ text }) => text);
  }

  it("that somebody presses who may not ask are answered once", async () => {
    expect(await clicked("USTRANGER")).toEqual(['{"type":"not_yours"}']);
  });

  it("that somebody presses who may ask are answered once", async () => {
    expect(await clicked("U1")).toEqual(['{"type":"over"}']);
    expect(await clicked("U2")).toEqual(['{"type":"not_yours"}']);
  });
});
