/** What the commands read of a zone's store: tasks, and records that are none, such as those of threads. */
import * as z from "zod";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";

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
