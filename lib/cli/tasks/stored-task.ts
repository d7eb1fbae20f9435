/** What the commands read of a zone's store: tasks, and records that are none, such as those of threads. */
import * as z from "zod";
import type { TaskQueue, TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";

/** Texts for a person; `store` and `queue` reject with errors that say what to do. */
export type TaskPlace = TaskListings & {
  /** Completes "There is no such task ...". */
  where: string;
  store: Pick<TaskStore<StoredTask>, "get" | "list">;
  queue: Pick<TaskQueue, "send">;
  /** The share of new traces that are kept, by the configuration; all where absent. */
  sampleRatio?: () => number;
  close(): Promise<void>;
};

/** What a store alone cannot list, or not at that price. */
export type TaskListings = {
  /** The tasks that are not over, oldest first. Reads no further than it is asked for. Leaves out what cannot be read. */
  openTasks(): AsyncGenerator<Task, void, undefined>;
  /** A page of the ids of the tasks in a state, the task that came last first; `cursor` is for the page after it. */
  newestIds(request: { state: string; cursor?: string | undefined; limit: number }): Promise<{
    ids: string[];
    cursor?: string;
  }>;
  /** Ids of the tasks in a state that begin so, all pages. May hold ids of other tasks that are under way. */
  idsLike(request: { state: string; prefix: string }): Promise<string[]>;
  /** What is to be known before idsLike is asked; undefined where it costs next to nothing. */
  costOfSearch: string | undefined;
  /** Why a message that was sent may be carried out later only; undefined where somebody is known to be at work. */
  whyLater(): string | undefined;
};

const itemSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.string(),
  thread: z.string().optional(),
  principal: z.string().optional(),
  expiresAtMs: z.int(),
});

/**
 * `task` is undefined where the record is none of a task, or of a version that this one cannot read, and where its data was deleted:
 * what is left of it then is nothing to list, to show or to try again.
 */
export type StoredTask = z.infer<typeof itemSchema> & { task: Task | undefined };

export function parseStored(json: unknown): StoredTask {
  const item = itemSchema.parse(json);
  return { ...item, task: isErased(item) ? undefined : taskSchema.safeParse(json).data };
}

/** It belongs to nobody any more, which no task does. */
export function isErased({ principal }: Pick<StoredTask, "principal">): boolean {
  return principal === "";
}
