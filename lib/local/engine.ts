/** What a zone on this machine keeps its tasks with: a sqlite file, unless whoever starts it brings another engine. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { QueueConsumer, QueueDepth, TaskItem, TaskQueue, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import {
  createQueueDepths,
  createSqliteQueue,
  createSqliteTaskStore,
} from "../../lambdas/shared/engine/sqlite/engine.ts";

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

// One `sekisho start` to a folder: two would take each other's tasks.

/** sqlite's primary result code, see https://www.sqlite.org/rescode.html */
const busy = 5;
/** How long a look at the lock may take it from who wants to have it. */
const lookMs = 200;

/**
 * Makes the folder where it is missing. The lock is sqlite's on a file of its own: the operating system frees it when the
 * process dies, kill -9 included, so that no stale one is ever left. Throws where another process holds it.
 */
export function lockFolder({ folder }: { folder: string }): { release(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: lookMs });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if ((Number((error as { errcode?: unknown }).errcode) & 0xff) !== busy) throw error;
    throw new Error(`Another \`sekisho start\` uses ${folder}. Stop it, or start in another folder.`, { cause: error });
  }
  return { release: () => database.close() };
}

/** Whether a process holds the folder's lock. Looking holds it from others for an instant, for which `lockFolder` waits. */
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
