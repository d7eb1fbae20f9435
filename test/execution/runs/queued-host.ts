/** A host that queues its tasks, and workers that run them, over one memory store and one sqlite queue, closed after the test; closed after the test. */
import { join } from "node:path";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createExecutionWorker } from "@sekisho/execution/execution-worker.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import { readExecutionIds } from "@sekisho/execution/tasks/task-message.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { afterTest, folderOfTest } from "../../tooling/cleanup.ts";
import { createTestHost, memoryStore, type TestHost } from "../test-host.ts";

export type QueuedHost = TestHost & {
  /** The bodies that were sent, whether that failed or not. */
  sent: string[];
  /** The groups that they were sent in. */
  groups: (string | undefined)[];
  /** How many of the next sends fail. */
  failing: { sends: number };
  /** Receives and runs until the end of the test; the signal ends it as the end of a function's time would. */
  startWorker(options: { agent: Agent; signal?: AbortSignal }): void;
};

export function createQueuedHost(options: Partial<HostOptions> = {}): QueuedHost {
  const database = openDatabase({ file: join(folderOfTest(), "queue.db") });
  const queue = createSqliteQueue({ database, name: "tasks" });
  const store = options.store ?? memoryStore(options.now);
  const times = { leaseMs: 60_000, renewMs: 5, lostAfterMs: 0, progressMs: 1 };
  const sentBodies: string[] = [];
  const groups: (string | undefined)[] = [];
  const failing = { sends: 0 };
  const taskQueue: TaskQueue = {
    async send(message) {
      sentBodies.push(message.body);
      groups.push(message.group);
      if (failing.sends > 0) {
        failing.sends -= 1;
        throw new Error("the queue is away");
      }
      await queue.send(message);
    },
  };
  const ending = new AbortController();
  const loops: Promise<void>[] = [];
  afterTest(async () => {
    ending.abort();
    await Promise.all(loops);
    await database.close();
  });
  return {
    ...createTestHost({ ...times, ...options, store, taskQueue }),
    sent: sentBodies,
    groups,
    failing,
    startWorker({ agent, signal = new AbortController().signal }) {
      const worker = createExecutionWorker({
        ...times,
        agent,
        store,
        ...(options.now && { now: options.now }),
      });
      loops.push(
        runQueueLoop({
          consumer: queue,
          handle: ({ body }) => worker.run({ taskId: JSON.parse(body).taskId, signal }),
          concurrency: 4,
          visibilityTimeoutMs: 60_000,
          signal: ending.signal,
          idsOf: readExecutionIds,
          log: silentLog,
          graceMs: 0,
        }),
      );
    },
  };
}
