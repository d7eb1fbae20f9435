/** A zone's task store and queues on one machine: a sqlite file by default. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type {
  ItemWriter,
  QueueConsumer,
  QueueDepth,
  TaskItem,
  TaskQueue,
  TaskStore,
} from "../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import {
  createQueueDepths,
  createSqliteQueue,
  createSqliteTaskStore,
} from "../../lambdas/shared/engine/sqlite/engine.ts";

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

// One `sekisho start` per folder: two would take each other's tasks.

/** sqlite's primary result code, see https://www.sqlite.org/rescode.html */
const busy = 5;
/** `isFolderLocked` holds the lock for an instant. A start waits that out. */
const lookMs = 200;

/**
 * Creates the folder if it is missing. The lock is sqlite's, on a file of its own. The operating system frees it when the
 * process dies, even by kill -9, so no stale lock is left. Throws if another process holds it.
 */
export function lockFolder({ folder }: { folder: string }): { release(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: lookMs });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if ((Number((error as { errcode?: unknown }).errcode) & 0xff) !== busy) throw error;
    throw new Error(
      `Another \`sekisho start\` uses ${folder}. Stop it, or start in another folder.`,
      { cause: error },
    );
  }
  return { release: () => database.close() };
}

/** True if a process holds the folder's lock. Creates nothing. */
export function isFolderLocked({ folder }: { folder: string }): boolean {
  const file = join(folder, "lock.db");
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
