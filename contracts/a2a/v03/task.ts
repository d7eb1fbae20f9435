/** Tasks of A2A 0.3 (sections 6.1 to 6.3): read as those of 1.0, and written from them. */
import * as z from "zod";
import { type A2aStatus, type A2aTask, a2aTaskSchema } from "../task.ts";
import { unset } from "../values.ts";
import { artifactToV03, messageToV03, v03ArtifactSchema, v03MessageSchema } from "./message.ts";

const states = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  rejected: "TASK_STATE_REJECTED",
} as const;
const stateNames = Object.keys(states) as (keyof typeof states)[];

/** `unknown` is refused, as 1.0's state without a name is: nobody could say what such a task waits for. */
export const v03StateSchema = z.enum(stateNames).transform((state) => states[state]);

export const v03StatusSchema = a2aTaskSchema.shape.status.extend({
  state: v03StateSchema,
  message: unset(v03MessageSchema),
});

export const v03TaskSchema = a2aTaskSchema.extend({
  status: v03StatusSchema,
  artifacts: unset(z.array(v03ArtifactSchema)),
  history: unset(z.array(v03MessageSchema)),
});

export function taskToV03(task: A2aTask): z.input<typeof v03TaskSchema> & { kind: "task" } {
  return {
    kind: "task",
    ...task,
    status: statusToV03(task.status),
    artifacts: task.artifacts?.map(artifactToV03),
    history: task.history?.map(messageToV03),
  };
}

export function statusToV03(status: A2aStatus): z.input<typeof v03StatusSchema> {
  // TASK_STATE_INPUT_REQUIRED is `input-required`.
  const state = status.state.slice("TASK_STATE_".length).toLowerCase().replace("_", "-") as keyof typeof states;
  return { ...status, state, message: status.message && messageToV03(status.message) };
}
