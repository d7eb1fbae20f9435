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

/** `task` is undefined where the record is none of a task, or of a version that this one cannot read. */
export type StoredTask = z.infer<typeof itemSchema> & { task: Task | undefined };

export function parseStored(json: unknown): StoredTask {
  return { ...itemSchema.parse(json), task: taskSchema.safeParse(json).data };
}
