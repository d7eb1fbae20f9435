/** Tasks (A2A 1.0, section 4.1: Task, TaskStatus, TaskState). */
import * as z from "zod";
import { a2aArtifactSchema, type Message, messageSchema } from "./part.ts";
import { idSchema, optionalText, optionalValue, structSchema } from "./values.ts";

export const a2aStateSchema = z.enum([
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_AUTH_REQUIRED",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_REJECTED",
]);
export type A2aState = z.infer<typeof a2aStateSchema>;

/** `timestamp` is when the state was entered, in UTC with `Z`. */
const statusSchema = z.object({
  state: a2aStateSchema,
  message: optionalValue(messageSchema),
  timestamp: optionalText(64),
});
export type A2aStatus = z.infer<typeof statusSchema>;

export const a2aTaskSchema = z.object({
  id: idSchema,
  contextId: z
    .string()
    .max(256)
    .nullish()
    .transform((id) => id ?? ""),
  status: statusSchema,
  artifacts: optionalValue(z.array(a2aArtifactSchema)),
  history: optionalValue(z.array(messageSchema)),
  metadata: structSchema,
});
export type A2aTask = z.infer<typeof a2aTaskSchema>;

export const statusUpdateSchema = z.object({
  taskId: idSchema,
  contextId: z.string().max(256),
  status: statusSchema,
  metadata: structSchema,
});
export type StatusUpdate = z.infer<typeof statusUpdateSchema>;

export const artifactUpdateSchema = z.object({
  taskId: idSchema,
  contextId: z.string().max(256),
  artifact: a2aArtifactSchema,
  append: optionalValue(z.boolean()),
  lastChunk: optionalValue(z.boolean()),
  metadata: structSchema,
});
export type ArtifactUpdate = z.infer<typeof artifactUpdateSchema>;

/** What `SendMessage` answers with: a task, or a message where the agent answers without one. */
export type SendResult = { task: A2aTask } | { message: Message };

/** One event of a stream, and the body of a push notification (A2A 1.0: StreamResponse). */
export type StreamEvent = SendResult | { statusUpdate: StatusUpdate } | { artifactUpdate: ArtifactUpdate };
