/** Charging tasks to the quotas of their user and their channel. */
import { describe, expect, it } from "@jest/globals";
import type { Quota } from "@sekisho/config/schema.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import {
  addCharge,
  createQuotas,
  noUsage,
  parseUsage,
  releaseCharge,
  remainingQuota,
  removeCharge,
  type Usage,
} from "@sekisho/verification/gate/quotas.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import fc from "fast-check";
import { collectLog } from "../../doubles/collect-log.ts";
import { forAll } from "../../doubles/for-all.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { sampleAsk, sampleTask } from "../task/sample.ts";

const hourly = (tasks: number): Quota => ({ tasks, perSeconds: 3600 });

const { log, lines } = collectLog();

type Given = { limits: { perUser?: Quota; perChannel?: Quota }; store?: TaskStore<Usage> };

function setUp({ limits, store: values }: Given) {
  const clock = { nowMs: 1_760_000_000_000 };
  const store = values ?? createMemoryTaskStore({ parse: parseUsage, now: () => clock.nowMs });
  const quotas = createQuotas({ limits, store, log, now: () => clock.nowMs });
  let messageCount = 0;
  const task = (message: Partial<UserMessage> = {}) => {
    messageCount += 1;
    const id = `0d1c2b3a-4f5e-5a6b-8c7d-${String(messageCount).padStart(12, "0")}`;
    return sampleTask({ id, message: sampleAsk(message).message });
  };
  const charge = (one: ReturnType<typeof task>) =>
    quotas.charge({ task: one, untilMs: clock.nowMs + 7_200_000 });
  return { clock, store, quotas, task, charge };
}

/** Of which every call is a failure of the test. */
const failingStore: TaskStore<Usage> = {
  get: () => Promise.reject(new Error("read")),
  create: () => Promise.reject(new Error("written")),
  replace: () => Promise.reject(new Error("written")),
  list: () => Promise.reject(new Error("listed")),
};

describe("quotas", () => {
  it("reads and writes nothing if no quota is configured", async () => {
    const { quotas, task, charge } = setUp({ limits: {}, store: failingStore });
    expect(await charge(task())).toBeUndefined();
    await quotas.release({ task: task() });
  });

  it("tells which quota one more task would exceed, without counting it", async () => {
    const { clock, quotas, task, charge } = setUp({
      limits: { perUser: hourly(2), perChannel: { ...hourly(3) } },
    });
    const other = () => task({ user: "U2" });
    expect(await quotas.findOver({ task: task() })).toBeUndefined();
    for (const one of [task(), task()]) await charge(one);
    expect(await quotas.findOver({ task: task() })).toEqual({
      by: "user",
      retryAtMs: clock.nowMs + 3_600_000,
    });
    for (let time = 0; time < 5; time++)
      expect(await quotas.findOver({ task: other() })).toBeUndefined();
    expect(await charge(other())).toBeUndefined();
    expect(await quotas.findOver({ task: other() })).toMatchObject({ by: "channel" });
  });

  it("charges a task once, also for many concurrent calls", async () => {
    const { task, charge } = setUp({ limits: { perUser: hourly(2) } });
    const once = task();
    expect(await Promise.all(Array.from({ length: 10 }, () => charge(once)))).toEqual(
      Array(10).fill(undefined),
    );
    expect(await charge(task())).toBeUndefined();
    expect(await charge(task())).toMatchObject({ by: "user" });
    expect(await charge(once)).toBeUndefined();
  });

  it("grants at most the limit to concurrent tasks", async () => {
    const { task, charge } = setUp({ limits: { perChannel: hourly(5) } });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => charge(task({ user: `U${index}` }))),
    );
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(5);
  });

  it("refuses with the time of the next free task and has room again at that time", async () => {
    const { clock, task, charge } = setUp({ limits: { perUser: hourly(1) } });
    await charge(task());
    const retryAtMs = clock.nowMs + 3_600_000;
    clock.nowMs += 60_000;
    const refusal = task();
    expect(await charge(refusal)).toEqual({ by: "user", retryAtMs });
    clock.nowMs = retryAtMs;
    expect(await charge(refusal)).toBeUndefined();
  });

  it("counts each user of each workspace and each channel separately", async () => {
    const { task, charge } = setUp({ limits: { perUser: hourly(1), perChannel: hourly(2) } });
    expect(await charge(task({ user: "U1", channel: "C1" }))).toBeUndefined();
    expect(await charge(task({ user: "U1", channel: "C2" }))).toMatchObject({ by: "user" });
    expect(await charge(task({ user: "U1", channel: "C2", team: "T2" }))).toBeUndefined();
    expect(await charge(task({ user: "U2", channel: "C1" }))).toBeUndefined();
    expect(await charge(task({ user: "U3", channel: "C1" }))).toMatchObject({ by: "channel" });
  });

  it("returns the charge of the user if the channel is full, also after an interruption", async () => {
    const { clock, store, task, charge } = setUp({
      limits: { perUser: hourly(1), perChannel: hourly(1) },
    });
    await charge(task({ user: "U1", channel: "C1" }));
    const second = task({ user: "U2", channel: "C1" });
    // As far as a worker came that died between the two quotas.
    const half = createQuotas({
      limits: { perUser: hourly(1) },
      store,
      log,
      now: () => clock.nowMs,
    });
    await half.charge({ task: second, untilMs: clock.nowMs + 1000 });
    expect(await charge(second)).toMatchObject({ by: "channel" });
    expect(await charge(task({ user: "U2", channel: "C2" }))).toBeUndefined();
  });

  it("has room again when a task is released or its time is over", async () => {
    const { clock, quotas, task, charge } = setUp({
      limits: { perUser: { atOnce: 1, perSeconds: 3600 } },
    });
    const [first, second] = [task(), task()];
    await charge(first);
    expect(await charge(second)).toEqual({ by: "user" });
    await quotas.release({ task: first });
    await quotas.release({ task: first });
    expect(await charge(second)).toBeUndefined();
    expect(await charge(task())).toEqual({ by: "user" });
    clock.nowMs += 7_200_000;
    expect(await charge(task())).toBeUndefined();
  });

  it("writes nothing when a task is released that was never charged", async () => {
    const nothing: TaskStore<Usage> = { ...failingStore, get: async () => undefined };
    const { quotas, task } = setUp({ limits: { perUser: hourly(1) }, store: nothing });
    await expect(quotas.release({ task: task() })).resolves.toBeUndefined();
  });

  it("rejects if the store is unavailable, so that no task starts uncounted", async () => {
    const { task, charge } = setUp({ limits: { perUser: hourly(1) }, store: failingStore });
    await expect(charge(task())).rejects.toThrow("read");
  });
});

const none = noUsage({ id: "usage:user:T1/U1" });
const count = fc.integer({ min: 1, max: 4 });

const anyQuota: fc.Arbitrary<Quota> = fc
  .record(
    { tasks: count, atOnce: count, perSeconds: fc.integer({ min: 1, max: 5 }) },
    { requiredKeys: ["perSeconds"] },
  )
  .filter(({ tasks, atOnce }) => tasks !== undefined || atOnce !== undefined);

const anyAct = fc.record({
  does: fc.constantFrom("charge", "charge", "release", "giveBack"),
  /** Before it. */
  passMs: fc.integer({ min: 0, max: 2000 }),
  id: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
  lastsMs: fc.integer({ min: 0, max: 6000 }),
});

type Granted = { id: string; atMs: number; untilMs: number; released: boolean };

describe("a quota", () => {
  it("grants the same as a model that forgets nothing, after any charges, releases and returns", () => {
    forAll(anyQuota, fc.array(anyAct, { maxLength: 40 })).hold((quota, acts) => {
      let usage: Usage = none;
      let model: Granted[] = [];
      let nowMs = 1_000_000;
      const underWay = () => model.filter(({ released, untilMs }) => !released && untilMs > nowMs);
      const inWindow = () => model.filter(({ atMs }) => atMs + quota.perSeconds * 1000 > nowMs);
      for (const { does, passMs, id, lastsMs } of acts) {
        nowMs += passMs;
        if (does === "charge") {
          // An id that is known no more is a new one; nobody asks again for a task that is over.
          const isKnown = usage.charges.some((one) => one.id === id);
          const hasRoom =
            inWindow().length < (quota.tasks ?? Infinity) &&
            underWay().length < (quota.atOnce ?? Infinity);
          const outcome = addCharge({
            usage,
            quota,
            requestId: id,
            nowMs,
            untilMs: nowMs + lastsMs,
          });
          expect("usage" in outcome).toBe(isKnown || hasRoom);
          if ("usage" in outcome) usage = outcome.usage;
          if (!isKnown && hasRoom)
            model.push({ id, atMs: nowMs, untilMs: nowMs + lastsMs, released: false });
        } else if (does === "release") {
          usage = releaseCharge({ usage, quota, requestId: id, nowMs });
          model = model.map((one) => (one.id === id ? { ...one, released: true } : one));
        } else if (usage.charges.some((one) => one.id === id)) {
          usage = removeCharge({ usage, quota, requestId: id, nowMs });
          model.splice(
            model.findLastIndex((one) => one.id === id),
            1,
          );
        }
      }
      expect(parseUsage(JSON.parse(JSON.stringify(usage)))).toEqual(usage);
    });
  });

  it("tells the exact time at which the next task is free", () => {
    forAll(
      count,
      fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 8, maxLength: 20 }),
    ).hold((tasks, gaps) => {
      const quota = { tasks, perSeconds: 5 };
      let usage: Usage = none;
      let nowMs = 0;
      for (const [index, gapMs] of gaps.entries()) {
        nowMs += gapMs;
        const at = (askedMs: number) =>
          addCharge({ usage, quota, requestId: String(index), nowMs: askedMs, untilMs: askedMs });
        const outcome = at(nowMs);
        if ("usage" in outcome) {
          usage = outcome.usage;
          continue;
        }
        const { retryAtMs = 0 } = outcome.over;
        expect(retryAtMs).toBeGreaterThan(nowMs);
        expect("usage" in at(retryAtMs)).toBe(true);
        expect("usage" in at(retryAtMs - 1)).toBe(false);
      }
    });
  });

  it("names no retry time if too many tasks are running, because the end of a task is unknown", () => {
    const quota = { atOnce: 1, perSeconds: 60 };
    const first = addCharge({ usage: none, quota, requestId: "a", nowMs: 0, untilMs: 1000 });
    const usage = "usage" in first ? first.usage : none;
    expect(addCharge({ usage, quota, requestId: "b", nowMs: 999, untilMs: 2000 })).toEqual({
      over: {},
    });
    expect("usage" in addCharge({ usage, quota, requestId: "b", nowMs: 1000, untilMs: 2000 })).toBe(
      true,
    );
    const releasedUsage = releaseCharge({ usage, quota, requestId: "a", nowMs: 1 });
    expect(
      "usage" in
        addCharge({ usage: releasedUsage, quota, requestId: "b", nowMs: 1, untilMs: 2000 }),
    ).toBe(true);
  });

  it("recognizes a charge as long as its task may run, even outside of the period", () => {
    const quota = { tasks: 1, perSeconds: 1 };
    const chargeUsage = (usage: Usage, requestId: string, nowMs: number) => {
      const outcome = addCharge({ usage, quota, requestId, nowMs, untilMs: 100_000 });
      if (!("usage" in outcome)) throw new Error("There was room.");
      return outcome.usage;
    };
    const both = chargeUsage(chargeUsage(none, "a", 0), "b", 5000);
    expect(addCharge({ usage: both, quota, requestId: "a", nowMs: 5001, untilMs: 0 })).toEqual({
      usage: both,
    });
  });

  it("keeps the record of a quota while one of its tasks still counts", () => {
    const quota = { tasks: 2, perSeconds: 10 };
    const outcome = addCharge({ usage: none, quota, requestId: "a", nowMs: 0, untilMs: 500_000 });
    const usage = "usage" in outcome ? outcome.usage : none;
    expect(usage.expiresAtMs).toBeGreaterThan(500_000);
    const releasedUsage = releaseCharge({ usage, quota, requestId: "a", nowMs: 5000 });
    expect(releasedUsage.charges).toEqual([{ id: "a", atMs: 0 }]);
    expect(releasedUsage.expiresAtMs).toBeLessThan(100_000);
    expect(releasedUsage.expiresAtMs).toBeGreaterThan(10_000);
  });

  it("stays small enough for one record, however long tasks take", () => {
    const quota = { tasks: 1000, perSeconds: 1 };
    const idOf = (index: number) => `0d1c2b3a-4f5e-5a6b-8c7d-${String(index).padStart(12, "0")}`;
    const untilMs = 8 * 3600_000;
    const charges = Array.from({ length: 5000 }, (_, index) => ({
      id: idOf(index),
      atMs: index * 2,
      untilMs,
    }));
    const outcome = addCharge({
      usage: { ...none, charges },
      quota,
      requestId: idOf(5000),
      nowMs: 10_999,
      untilMs,
    });
    const remainingCharges = "usage" in outcome ? outcome.usage.charges : [];
    // All of the window, and of those before it the latest.
    expect(remainingCharges.length).toBe(1001);
    expect(remainingCharges).toEqual(
      expect.arrayContaining([{ id: idOf(5000), atMs: 10_999, untilMs }, charges[4999]]),
    );
    expect(JSON.stringify(remainingCharges).length).toBeLessThan(150_000);
  });
});

describe("the tasks of other bots", () => {
  const botIds = ["B2", "A2"];

  it("limits all bots together to three tasks a day in a thread and logs the cut", async () => {
    const { clock, task, charge } = setUp({ limits: {} });
    lines.length = 0;
    const inThread = (user: string) => task({ user, threadTs: "1.1", botIds });
    for (const user of ["B2", "B3", "B2"]) expect(await charge(inThread(user))).toBeUndefined();
    const cut = inThread("B3");
    expect(await charge(cut)).toMatchObject({ by: "bots" });
    const logEntries = lines.map((line) => JSON.parse(line));
    expect(logEntries).toMatchObject([{ message: "bot_loop_cut", request_id: cut.id, user: "B3" }]);
    expect(await charge(task({ threadTs: "1.1" }))).toBeUndefined();
    expect(await charge(task({ user: "B2", threadTs: "2.2", botIds }))).toBeUndefined();
    clock.nowMs += 24 * 3600_000;
    expect(await charge(inThread("B2"))).toBeUndefined();
  });

  it("limits bots to twenty tasks an hour in a channel, whatever the threads", async () => {
    const { task, charge } = setUp({ limits: {} });
    const outcomes: unknown[] = [];
    for (let count = 0; count < 22; count++)
      outcomes.push(await charge(task({ ts: `${count}.1`, botIds })));
    expect(outcomes.map((over) => over === undefined)).toEqual(
      Array.from({ length: 22 }, (_, index) => index < 20),
    );
    expect(await charge(task({ channel: "C9", ts: "9.9", botIds }))).toBeUndefined();
  });
});

describe("the remainder of a quota", () => {
  it("leaves nothing of a quota exactly when the next charge is refused", () => {
    const times = fc.array(fc.nat({ max: 7200 }), { maxLength: 12 });
    forAll(fc.tuple(times, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }))).hold(
      ([seconds, tasks, atOnce]) => {
        const quota: Quota = { tasks, perSeconds: 3600, atOnce };
        let usage = noUsage({ id: "usage:user:T1/U1" });
        for (const [n, second] of seconds.sort((a, b) => a - b).entries()) {
          const nowMs = second * 1000;
          const outcome = addCharge({
            usage,
            quota,
            requestId: `r${n}`,
            nowMs,
            untilMs: nowMs + 900_000,
          });
          const { inPeriod, atOnce: free } = remainingQuota({ usage, quota, nowMs });
          expect((inPeriod?.left ?? 1) > 0 && (free?.left ?? 1) > 0).toBe(!("over" in outcome));
          if ("over" in outcome && outcome.over.retryAtMs !== undefined)
            expect(inPeriod?.freeAtMs).toBe(outcome.over.retryAtMs);
          if ("usage" in outcome) usage = outcome.usage;
        }
      },
    );
  });
});
