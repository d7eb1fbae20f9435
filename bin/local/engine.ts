/** What a zone on this machine keeps its tasks with: a sqlite file, unless whoever starts it brings another engine. */
import type { QueueConsumer, QueueDepth, TaskItem, TaskQueue, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import { createQueueDepths } from "../../lambdas/shared/engine/sqlite/queue-depths.ts";
import { createSqliteQueue } from "../../lambdas/shared/engine/sqlite/task-queue.ts";
import { createSqliteTaskStore } from "../../lambdas/shared/engine/sqlite/task-store.ts";

type Queue = TaskQueue & QueueConsumer;

export type Engine = {
  taskStore<T extends TaskItem>(request: { parse: (json: unknown) => T }): TaskStore<T>;
  /** A message that was received `maxReceiveCount` times moves to `deadLetters`. */
  taskQueue(request: { maxReceiveCount: number }): { queue: Queue; deadLetters: Queue };
  /** Where the Execution zone pushes the ends of tasks, for the Verification zone; without it tasks are polled only. */
  completions?(): Queue;
  /** Where the Execution zone keeps what it has to tell A2A clients that want to be told; without it they poll. */
  notifications?(): Queue;
  /** What waits in the queues now. */
  queueDepths?(): QueueDepth[];
  close(): Promise<void>;
};

/** Throws EngineFileError where the file cannot be used. */
export function openSqliteEngine({
  file,
  busyTimeoutMs,
}: {
  file: string;
  busyTimeoutMs?: number | undefined;
}): Engine {
  const database = openDatabase({ file, ...(busyTimeoutMs !== undefined && { busyTimeoutMs }) });
  return {
    taskStore: ({ parse }) => createSqliteTaskStore({ database, parse }),
    taskQueue: ({ maxReceiveCount }) => ({
      queue: createSqliteQueue({ database, name: "tasks", maxReceiveCount, deadLetterQueue: "tasks-dead" }),
      deadLetters: createSqliteQueue({ database, name: "tasks-dead" }),
    }),
    completions: () => createSqliteQueue({ database, name: "completions" }),
    notifications: () => createSqliteQueue({ database, name: "notifications", deadLetterQueue: "notifications-dead" }),
    queueDepths: createQueueDepths({ database, names: ["tasks", "tasks-dead", "completions"] }),
    close: () => database.close(),
  };
}
