/** A zone's task store and queues on one machine: a sqlite file by default. */

import type {
  ItemWriter,
  QueueConsumer,
  QueueDepth,
  TaskItem,
  TaskQueue,
  TaskStore,
} from "../ports.ts";
import { openDatabase } from "./database.ts";
import { createQueueDepths, createSqliteQueue, createSqliteTaskStore } from "./engine.ts";

type Queue = TaskQueue & QueueConsumer;

export type Engine = {
  taskStore<T extends TaskItem>(request: {
    parse: (json: unknown) => T;
  }): TaskStore<T> & ItemWriter;
  /** A message moves to `deadLetters` after `maxReceiveCount` receives. */
  taskQueue(request: { maxReceiveCount: number }): { queue: Queue; deadLetters: Queue };
  /** The Execution zone pushes completions here for the Verification zone. Without it, tasks are only polled. */
  completions?(): Queue;
  /** The Execution zone queues push notifications to A2A clients here. Without it, they poll. */
  notifications?(): Queue;
  /** The messages that wait in the queues. */
  queueDepths?(): QueueDepth[];
  close(): Promise<void>;
};

/** Throws EngineFileError if the file cannot be used. */
export function openSqliteEngine({ file }: { file: string }): Engine {
  const database = openDatabase({ file });
  return {
    taskStore: ({ parse }) => createSqliteTaskStore({ database, parse }),
    taskQueue: ({ maxReceiveCount }) => ({
      queue: createSqliteQueue({
        database,
        name: "tasks",
        maxReceiveCount,
        deadLetterQueue: "tasks-dead",
      }),
      deadLetters: createSqliteQueue({ database, name: "tasks-dead" }),
    }),
    completions: () => createSqliteQueue({ database, name: "completions" }),
    notifications: () =>
      createSqliteQueue({ database, name: "notifications", deadLetterQueue: "notifications-dead" }),
    queueDepths: createQueueDepths({ database, names: ["tasks", "tasks-dead", "completions"] }),
    close: () => database.close(),
  };
}
