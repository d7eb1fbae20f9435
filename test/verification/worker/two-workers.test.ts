import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { runQueueLoop } from "../../../lambdas/shared/engine/loop.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { createWorker } from "../../../lambdas/verification/worker/worker.ts";
import { sampleAsk, samplePolicy } from "../task/sample.ts";

const tasks = 60;
const outcomes: Record<string, (nowMs: number) => TaskEvent> = {
  permit: (nowMs) => ({ type: "permitted", nowMs, allowed: true, locale: "en" }),
  charge: () => ({ type: "charged", over: undefined }),
  announce: (nowMs) => ({ type: "announced", nowMs, ts: "1.1" }),
  send: (nowMs) => ({ type: "answered", nowMs, act: "send", result: { status: "success", response_text: "done" } }),
  join_thread: (nowMs) => ({ type: "thread_joined", nowMs, queuePosition: 0, freeAtMs: nowMs }),
  leave_thread: () => ({ type: "thread_left" }),
  deliver: () => ({ type: "delivered" }),
};

it("two workers on one queue share the work without waiting for each other's leases", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-workers-"));
  const file = join(folder, "verification.db");
  const stop = new AbortController();
  const lines: Record<string, unknown>[] = [];
  const acts: string[] = [];
  const log = createLog({
    service: "verification",
    level: "debug",
    write: (line) => void lines.push(JSON.parse(line)),
  });
  const over = Promise.withResolvers<void>();
  let left = 0;
  const zones = [1, 2].map(() => {
    const database = openDatabase({ file });
    const queue = createSqliteQueue({ database, name: "tasks" });
    const runAct = Object.assign(
      async ({ act, task }: { act: { type: string }; task: { id: string } }) => {
        acts.push(`${task.id} ${act.type}`);
        const outcome = outcomes[act.type];
        if (outcome === undefined) throw new Error(`unexpected ${act.type}`);
        if (act.type === "leave_thread" && ++left === tasks) over.resolve();
        return outcome(Date.now());
      },
      { stopSession: async () => {} },
    );
    const store = createSqliteTaskStore({ database, parse: (json) => taskSchema.parse(json) });
    const worker = createWorker({
      store,
      queue,
      policy: samplePolicy(),
      runAct,
      isKnownThread: async () => "unknown",
      handleButtonClick: async () => {},
      handleConversationOpened: async () => {},
      isIgnored: async () => false,
      zoneSecret: async () => "secret",
      leaseMs: 60_000,
      log,
      newId: randomUUID,
    });
    const loop = runQueueLoop({
      consumer: queue,
      handle: ({ body }) => worker.handle({ body }),
      concurrency: 8,
      visibilityTimeoutMs: 90_000,
      signal: stop.signal,
      log,
    });
    return { database, queue, loop };
  });
  for (let i = 0; i < tasks; i++) {
    const ask = { ...sampleAsk({ ts: `${Date.now() / 1000}` }), requestId: randomUUID(), receivedAtMs: Date.now() };
    await zones[i % 2]?.queue.send({ body: JSON.stringify(ask) });
  }
  await over.promise;
  stop.abort();
  await Promise.all(zones.map(({ loop }) => loop));
  await Promise.all(zones.map(({ database }) => database.close()));
  rmSync(folder, { recursive: true, force: true });
  expect(acts).toHaveLength(tasks * 7);
  expect(new Set(acts).size).toBe(tasks * 7);
  expect(lines.filter(({ message, delay_ms }) => message === "lease_held" && Number(delay_ms) > 30_000)).toEqual([]);
});
