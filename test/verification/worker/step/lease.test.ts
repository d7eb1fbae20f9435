import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { silentLog } from "@sekisho/runtime/log.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import {
  type ClaimedTask,
  withRenewedLease,
  withRevisionOf,
} from "@sekisho/verification/worker/step/lease.ts";
import { runStep } from "@sekisho/verification/worker/step/run.ts";
import { createMemoryTaskStore } from "../../../world/records.ts";
import { sampleCall, samplePolicy, sampleTask } from "../../task/sample.ts";

const leaseMs = 400;
type Store = ReturnType<typeof createMemoryTaskStore<Task>>;

/** A store with one task, whose lease has just been claimed. `around` wraps the store for the worker. */
async function heldTask(
  around: (store: Store) => Partial<Pick<Store, "get" | "replace">> = () => ({}),
) {
  const store = createMemoryTaskStore({ parse: (json) => taskSchema.parse(json) });
  const lease = { owner: "me", untilMs: Date.now() + leaseMs };
  const storedTask = await store.create({
    item: { ...sampleTask(), lease, expiresAtMs: Date.now() + 3_600_000 },
  });
  if (storedTask === undefined) throw new Error("not created");
  let record: ClaimedTask = { ...storedTask, lease };
  return {
    record: () => record,
    stored: storedTask,
    read: () => store.get({ id: storedTask.id }),
    takeOver: async () => {
      const task = await store.get({ id: storedTask.id });
      if (task !== undefined)
        await store.replace({ item: { ...task, lease: { owner: "you", untilMs: 0 } } });
    },
    save: (task: Task) => store.replace({ item: withRevisionOf(record, task) }),
    async keep<T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
      const wrappedStore = { ...store, ...around(store) };
      const renewedResult = await withRenewedLease({
        store: wrappedStore,
        record,
        leaseMs,
        signal,
        work,
      });
      record = renewedResult.record;
      return renewedResult.result;
    },
  };
}

// A lease counts the time that passes, which is not that of a busy machine.
beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Lets the time pass until the work has settled. */
async function settle<T>(work: Promise<T>): Promise<T> {
  let isSettled = false;
  const settledWork = work.finally(() => {
    isSettled = true;
  });
  while (!isSettled) await jest.advanceTimersByTimeAsync(10);
  return settledWork;
}

const waitForAbort = (signal: AbortSignal) =>
  new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("aborted")));

describe("the lease of a call that takes several leases", () => {
  it("renews the lease until the call ends, and the record can be saved afterwards", async () => {
    const { record, stored, read: readTask, keep, save } = await heldTask();
    expect(await settle(keep((signal) => delay(5 * leaseMs).then(() => signal.aborted)))).toBe(
      false,
    );
    const { lease, revision = 0 } = (await readTask()) ?? {};
    expect(lease?.owner).toBe("me");
    expect(lease?.untilMs).toBeGreaterThan((stored.lease?.untilMs ?? 0) + 2 * leaseMs);
    expect(record().lease).toEqual(lease);
    expect(await save({ ...stored, state: "waiting" })).toMatchObject({
      state: "waiting",
      revision: revision + 1,
    });
    await settle(delay(2 * leaseMs));
    expect((await readTask())?.revision).toBe(revision + 1);
  });

  it("renews the lease after a lost response or a short outage of the store", async () => {
    let times = 0;
    const { keep, read, save, stored } = await heldTask((store) => ({
      async replace(request) {
        times += 1;
        if (times === 2) throw new Error("away");
        const replacedTask = await store.replace(request);
        if (times === 1) throw new Error("the answer is lost");
        return replacedTask;
      },
    }));
    expect(await settle(keep((signal) => delay(4 * leaseMs).then(() => signal.aborted)))).toBe(
      false,
    );
    expect((await read())?.lease?.owner).toBe("me");
    expect(await save(stored)).toBeDefined();
  });

  it("aborts the call if another worker takes over or the store stays away", async () => {
    const heldElsewhere = await heldTask();
    await heldElsewhere.takeOver();
    expect(await settle(heldElsewhere.keep(waitForAbort))).toBe("aborted");
    const away = async () => Promise.reject(new Error("away"));
    const { keep } = await heldTask(() => ({ replace: away, get: away }));
    expect(await settle(keep(waitForAbort))).toBe("aborted");
  });

  it("stops renewing the lease for a call that continues after its abort", async () => {
    const { keep, read, stored } = await heldTask();
    await settle(keep(() => delay(3 * leaseMs), AbortSignal.abort()));
    expect(await read()).toEqual(stored);
  });
});

it("stores why it cancels a task although the response of the last renewal was lost", async () => {
  const store = createMemoryTaskStore({ parse: (json) => taskSchema.parse(json) });
  const nowMs = Date.now();
  const call = sampleCall({ deadlineAtMs: nowMs + 1000 });
  const item = { ...sampleTask({ state: "sent", call }), expiresAtMs: nowMs + 3_600_000 };
  const task = await store.create({ item });
  if (task === undefined) throw new Error("not created");
  const acts: string[] = [];
  const wakeUps: string[] = [];
  const result = await runStep(
    {
      store: { ...store, writeTogether: async () => false },
      queue: { send: async ({ body }) => void wakeUps.push(body) },
      policy: samplePolicy(),
      async runAct({ act }) {
        acts.push(act.type);
        if (act.type !== "send") return { event: { type: "busy", delayMs: 1000 } };
        const record = await store.get({ id: task.id });
        if (record !== undefined) await store.replace({ item: record });
        const error = { reason: "ambiguous", certainty: "unknown", lost: false } as const;
        return { event: { type: "call_failed", act: "send", nowMs: nowMs + 2000, error } };
      },
      leaseMs,
      log: silentLog,
      newId: () => "me",
    },
    {
      task,
      event: { type: "woken", nowMs, workerDied: false },
      seq: 0,
      nowMs,
      signal: undefined,
    },
  );
  expect(acts.slice(0, 2)).toEqual(["send", "cancel"]);
  expect(result).toBe("saved");
  expect(wakeUps).toHaveLength(1);
});
