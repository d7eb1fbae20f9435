/**
 * Tasks (A2A 1.0, section 4.1: Task, TaskStatus, TaskState), and their states in A2A and in the contract between the zones.
 */
import * as z from "zod";
import type { TaskState } from "../methods.ts";
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

/** `timestamp` is when the task entered the state, in UTC with `Z`. */
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
type StatusUpdate = z.infer<typeof statusUpdateSchema>;

export const artifactUpdateSchema = z.object({
  taskId: idSchema,
  contextId: z.string().max(256),
  artifact: a2aArtifactSchema,
  append: optionalValue(z.boolean()),
  lastChunk: optionalValue(z.boolean()),
  metadata: structSchema,
});
type ArtifactUpdate = z.infer<typeof artifactUpdateSchema>;

/** The result of `SendMessage`: a task, or a message if the agent answers without a task. */
export type SendResult = { task: A2aTask } | { message: Message };

/** One event of a stream, and the body of a push notification (A2A 1.0: StreamResponse). */
export type StreamEvent =
  | SendResult
  | { statusUpdate: StatusUpdate }
  | { artifactUpdate: ArtifactUpdate };

const a2aStates: Record<TaskState, A2aState> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  input_required: "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  rejected: "TASK_STATE_REJECTED",
};

/** A2A has a state of its own for a task that waits for credentials (`kind`). */
export function toA2aState({
  state,
  kind,
}: {
  state: TaskState;
  kind?: "auth" | undefined;
}): A2aState {
  return state === "input_required" && kind === "auth"
    ? "TASK_STATE_AUTH_REQUIRED"
    : a2aStates[state];
}

export function fromA2aState(a2aState: A2aState): { state: TaskState; kind?: "auth" } {
  if (a2aState === "TASK_STATE_AUTH_REQUIRED") return { state: "input_required", kind: "auth" };
  const state = (Object.keys(a2aStates) as TaskState[]).find(
    (name) => a2aStates[name] === a2aState,
  );
  // The table has every other state; `submitted` satisfies the type.
  return { state: state ?? "submitted" };
}
