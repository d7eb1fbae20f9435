/** The message of the queue of tasks: an id and nothing else. What the task is about stays in its record. */
import * as z from "zod";

const taskMessageSchema = z.object({ taskId: z.string().min(1) });
export type TaskMessage = z.infer<typeof taskMessageSchema>;

export function encodeTaskMessage(message: TaskMessage): string {
  return JSON.stringify(message);
}

/** Throws where it is none. */
export function parseTaskMessage(body: string): TaskMessage {
  return taskMessageSchema.parse(JSON.parse(body));
}
