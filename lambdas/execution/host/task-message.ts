/** The messages of the queue of tasks: ids, and nothing else of the task. What it is about stays in its record. */
import * as z from "zod";
import { taskStateSchema } from "../../../contracts/task.ts";

const runSchema = z.object({ taskId: z.string().min(1) });

/** That a task entered a state at a moment, which one of its push configurations is to be told of. `attempt` counts from 0. */
const pushNoticeSchema = z.object({
  taskId: z.string().min(1),
  configId: z.string().min(1),
  state: taskStateSchema,
  changedAtMs: z.number(),
  attempt: z.int().min(0),
});
export type PushNotice = z.infer<typeof pushNoticeSchema>;

/** A task to be run, or news of one. A notice lies deeper, so that whoever knows none never takes it for a task. */
const taskMessageSchema = z.union([runSchema, z.object({ push: pushNoticeSchema })]);
export type TaskMessage = z.infer<typeof taskMessageSchema>;

export function encodeTaskMessage(message: TaskMessage): string {
  return JSON.stringify(message);
}

/** Throws where it is none. */
export function parseTaskMessage(body: string): TaskMessage {
  return taskMessageSchema.parse(JSON.parse(body));
}
