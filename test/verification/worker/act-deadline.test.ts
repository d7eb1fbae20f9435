/** Every act ends before the lease does, so that nobody else acts on the task at the same time. */
import { afterEach, expect, it, jest } from "@jest/globals";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import type { RunAct } from "../../../lambdas/verification/worker/run-step.ts";
import { createWorker } from "../../../lambdas/verification/worker/worker.ts";
import { askedAtMs, sampleCall, samplePolicy, sampleTask } from "../task/sample.ts";

afterEach(() => void jest.restoreAllMocks());

const nowMs = askedAtMs + 20_000;
const leaseMs = 60_000;

it("ends an act by its signal a good while before the lease is over, and not much earlier than it must", async () => {
  const limits: { ms: number; controller: AbortController }[] = [];
  jest.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const controller = new AbortController();
    limits.push({ ms, controller });
    return controller.signal;
  });
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now: () => nowMs });
  await store.create({ item: sampleTask({ state: "sent", call: sampleCall({ arrival: "in_doubt" }), wakeSeq: 2 }) });
  const started = Promise.withResolvers<void>();
  let ended = false;
  const hangs: RunAct = Object.assign(
    async ({ signal }: Parameters<RunAct>[0]) => {
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
      started.resolve();
      await aborted;
      ended = true;
      const error = { reason: "ambiguous", retryable: false, undelivered: false, lost: false } as const;
      return { type: "call_failed", nowMs, act: "poll", error } as const;
    },
    { stopSession: async () => {} },
  );
  const worker = createWorker({
    store,
    queue: { send: async () => {} },
    policy: samplePolicy(),
    runAct: hangs,
    isKnownThread: async () => "unknown",
    handleButtonClick: async () => {},
    handleConversationOpened: async () => {},
    isIgnored: async () => false,
    zoneSecret: async () => "secret",
    leaseMs,
    log: silentLog,
    newId: () => "worker",
    now: () => nowMs,
  });
  const handled = worker.handle({ body: JSON.stringify({ type: "wake", requestId: sampleTask().id, seq: 2 }) });
  await started.promise;
  const passUntil = async (ms: number) => {
    for (const limit of limits) if (limit.ms <= ms) limit.controller.abort();
    await new Promise((resolve) => setImmediate(resolve));
  };
  await passUntil(0.8 * leaseMs);
  expect(ended).toBe(false);
  // A tenth of the lease is left for the wake-up and the record.
  await passUntil(0.9 * leaseMs);
  expect(ended).toBe(true);
  await handled;
  expect((await store.get({ id: sampleTask().id }))?.lease).toBeUndefined();
});
