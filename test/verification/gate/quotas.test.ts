/** Charging tasks to the quotas of their user and their channel. */
import { describe, expect, it } from "@jest/globals";
import type { Quota } from "../../../lambdas/shared/config/schema.ts";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import type { TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { createQuotas, parseUsage, type Usage } from "../../../lambdas/verification/gate/gate.ts";
import { sampleAsk, sampleTask } from "../task/sample.ts";

const hourly = (tasks: number): Quota => ({ tasks, perSeconds: 3600 });

function setUp({
  limits,
  store: given,
}: {
  limits: { perUser?: Quota; perChannel?: Quota };
  store?: TaskStore<Usage>;
}) {
  const clock = { nowMs: 1_760_000_000_000 };
  const store = given ?? createMemoryTaskStore({ parse: parseUsage, now: () => clock.nowMs });
  const quotas = createQuotas({ limits, store, now: () => clock.nowMs });
  let made = 0;
  const task = (message: { user?: string; channel?: string; team?: string } = {}) => {
    made += 1;
    const id = `0d1c2b3a-4f5e-5a6b-8c7d-${String(made).padStart(12, "0")}`;
    return sampleTask({ id, message: sampleAsk(message).message });
  };
  const charge = (one: ReturnType<typeof task>) => quotas.charge({ task: one, untilMs: clock.nowMs + 7_200_000 });
  return { clock, store, quotas, task, charge };
}

/** Of which every call is a failure of the test. */
const untouched: TaskStore<Usage> = {
  get: () => Promise.reject(new Error("read")),
  create: () => Promise.reject(new Error("written")),
  replace: () => Promise.reject(new Error("written")),
  list: () => Promise.reject(new Error("listed")),
};

describe("quotas", () => {
  it("that are not there cost no read and no write", async () => {
    const { quotas, task, charge } = setUp({ limits: {}, store: untouched });
    expect(await charge(task())).toBeUndefined();
    await quotas.release({ task: task() });
  });

  it("charge a task once, however often it is asked, also by many at once", async () => {
    const { task, charge } = setUp({ limits: { perUser: hourly(2) } });
    const once = task();
    expect(await Promise.all(Array.from({ length: 10 }, () => charge(once)))).toEqual(Array(10).fill(undefined));
    expect(await charge(task())).toBeUndefined();
    expect(await charge(task())).toMatchObject({ by: "user" });
    expect(await charge(once)).toBeUndefined();
  });

  it("grant no more than they have, however many ask at once", async () => {
    const { task, charge } = setUp({ limits: { perChannel: hourly(5) } });
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => charge(task({ user: `U${index}` }))));
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(5);
  });

  it("refuse with the time of the next one, at which there is room again", async () => {
    const { clock, task, charge } = setUp({ limits: { perUser: hourly(1) } });
    await charge(task());
    const retryAtMs = clock.nowMs + 3_600_000;
    clock.nowMs += 60_000;
    const refused = task();
    expect(await charge(refused)).toEqual({ by: "user", retryAtMs });
    clock.nowMs = retryAtMs;
    expect(await charge(refused)).toBeUndefined();
  });

  it("count each user of each workspace, and each channel, by themselves", async () => {
    const { task, charge } = setUp({ limits: { perUser: hourly(1), perChannel: hourly(2) } });
    expect(await charge(task({ user: "U1", channel: "C1" }))).toBeUndefined();
    expect(await charge(task({ user: "U1", channel: "C2" }))).toMatchObject({ by: "user" });
    expect(await charge(task({ user: "U1", channel: "C2", team: "T2" }))).toBeUndefined();
    expect(await charge(task({ user: "U2", channel: "C1" }))).toBeUndefined();
    expect(await charge(task({ user: "U3", channel: "C1" }))).toMatchObject({ by: "channel" });
  });

  it("give the user's charge back where the channel has no room, also when the giving back had been cut off", async () => {
    const { clock, store, task, charge } = setUp({ limits: { perUser: hourly(1), perChannel: hourly(1) } });
    await charge(task({ user: "U1", channel: "C1" }));
    const second = task({ user: "U2", channel: "C1" });
    // As far as a worker came that died between the two quotas.
    const half = createQuotas({ limits: { perUser: hourly(1) }, store, now: () => clock.nowMs });
    await half.charge({ task: second, untilMs: clock.nowMs + 1000 });
    expect(await charge(second)).toMatchObject({ by: "channel" });
    expect(await charge(task({ user: "U2", channel: "C2" }))).toBeUndefined();
  });

  it("have room for the next at once when a task is released, and at the latest when its time is over", async () => {
    const { clock, quotas, task, charge } = setUp({ limits: { perUser: { atOnce: 1, perSeconds: 3600 } } });
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

  it("write nothing when what was never charged is released", async () => {
    const nothing: TaskStore<Usage> = { ...untouched, get: async () => undefined };
    const { quotas, task } = setUp({ limits: { perUser: hourly(1) }, store: nothing });
    await expect(quotas.release({ task: task() })).resolves.toBeUndefined();
  });

  it("reject where the store is away, so that nobody is let through uncounted", async () => {
    const { task, charge } = setUp({ limits: { perUser: hourly(1) }, store: untouched });
    await expect(charge(task())).rejects.toThrow("read");
  });
});
