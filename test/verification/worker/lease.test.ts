import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { createWorker } from "../../../lambdas/verification/worker/worker.ts";
import { askedAtMs, samplePolicy, sampleTask } from "../task/sample.ts";

const nowMs = askedAtMs + 20_000;

/** A task that a worker has held for 20 s of its lease of 60 s; and a second worker. */
async function heldTask() {
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now: () => nowMs });
  const task = sampleTask({ state: "sent", wakeSeq: 2, lease: { owner: "first", untilMs: nowMs + 40_000 } });
  await store.create({ item: task });
  const sent: { body: string; delayMs?: number }[] = [];
  const acts: string[] = [];
  const runAct = Object.assign(
    async ({ act, signal }: { act: { type: string }; signal: AbortSignal }): Promise<TaskEvent> => {
      acts.push(act.type);
      await new Promise<void>((resolve) =>
        signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve()),
      );
      return {
        type: "call_failed",
        nowMs,
        act: "send",
        error: { reason: "ambiguous", retryable: false, undelivered: false, lost: false },
      };
    },
    { stopSession: async () => {} },
  );
  const worker = createWorker({
    store,
    queue: { send: async (message) => void sent.push(message) },
    policy: samplePolicy(),
    runAct,
    isKnownThread: async () => "unknown",
    handleButtonClick: async () => {},
    handleConversationOpened: async () => {},
    isIgnored: async () => false,
    zoneSecret: async () => "secret",
    leaseMs: 60_000,
    log: silentLog,
    newId: () => "second",
    now: () => nowMs,
  });
  return { store, task, sent, acts, worker };
}

const wake = (requestId: string, seq: number) => JSON.stringify({ type: "wake", requestId, seq });

describe("a wake-up that meets a held lease", () => {
  it("comes again when the lease is over, if the worker that holds it is in the act", async () => {
    const { task, sent, acts, worker } = await heldTask();
    await worker.handle({ body: wake(task.id, 2) });
    expect(acts).toEqual([]);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.delayMs).toBeGreaterThan(40_000);
  });

  it("comes again soon, and later each time, if that worker is only about to save", async () => {
    const { task, sent, worker } = await heldTask();
    await worker.handle({ body: wake(task.id, 3) });
    for (let i = 0; i < 12; i++) await worker.handle({ body: sent.at(-1)?.body ?? "" });
    const delays = sent.map(({ delayMs }) => delayMs ?? 0);
    expect(delays[0]).toBeLessThan(1000);
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(Math.max(...delays)).toBeGreaterThan(40_000);
    expect(delays.length).toBeLessThan(20);
  });
});

describe("a dead letter", () => {
  it("of a link that is finished already changes nothing", async () => {
    const { store, task, sent, worker } = await heldTask();
    await worker.deadLetter({ body: wake(task.id, 1) });
    expect(sent).toEqual([]);
    expect((await store.get({ id: task.id }))?.state).toBe("sent");
  });

  it("of a task that a worker holds waits until the lease is over", async () => {
    const { store, task, sent, worker } = await heldTask();
    await worker.deadLetter({ body: wake(task.id, 2) });
    expect(sent[0]?.delayMs).toBeGreaterThan(40_000);
    expect((await store.get({ id: task.id }))?.state).toBe("sent");
  });
});

describe("a worker that is told to stop", () => {
  it("ends its call, writes down that it is in doubt, and leaves neither a lease nor a silent task", async () => {
    const { store, task, sent, acts, worker } = await heldTask();
    const stored = await store.get({ id: task.id });
    if (stored === undefined) throw new Error("no task");
    const { lease: _lease, ...free } = stored;
    await store.replace({ item: free });
    const stop = new AbortController();
    const handled = worker.handle({ body: wake(task.id, 2), signal: stop.signal });
    while (acts.length === 0) await setImmediate();
    stop.abort();
    await handled;
    const left = await store.get({ id: task.id });
    expect(left).toMatchObject({ state: "sent", call: { arrival: "in_doubt" }, wakeSeq: 3 });
    expect(left?.lease).toBeUndefined();
    expect(sent).toHaveLength(1);
  });
});
