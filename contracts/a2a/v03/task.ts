/** Reads tasks of A2A 0.3 (sections 6.1 to 6.3) as those of 1.0, and writes them and the events of streams (section 7.2). */
import * as z from "zod";
import {
  type A2aState,
  type A2aStatus,
  type A2aTask,
  a2aTaskSchema,
  type StreamEvent,
} from "../task.ts";
import { optionalValue } from "../values.ts";
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

/** Refuses `unknown`, because nobody could say what such a task waits for. */
const v03StateSchema = z.enum(stateNames).transform((state) => states[state]);

export const v03StatusSchema = a2aTaskSchema.shape.status.extend({
  state: v03StateSchema,
  message: optionalValue(v03MessageSchema),
});

export const v03TaskSchema = a2aTaskSchema.extend({
  status: v03StatusSchema,
  artifacts: optionalValue(z.array(v03ArtifactSchema)),
  history: optionalValue(z.array(v03MessageSchema)),
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

function statusToV03(status: A2aStatus): z.input<typeof v03StatusSchema> {
  // TASK_STATE_INPUT_REQUIRED is `input-required`.
  const state = status.state
    .slice("TASK_STATE_".length)
    .toLowerCase()
    .replace("_", "-") as keyof typeof states;
  return { ...status, state, message: status.message && messageToV03(status.message) };
}

const openStates: readonly A2aState[] = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];

/**
 * Writes an event of a stream, or the answer to a message. `final` says that the agent does no more by itself: the task has ended, or waits
 * for its client.
 */
export function eventToV03(event: StreamEvent): unknown {
  if ("task" in event) return taskToV03(event.task);
  if ("message" in event) return messageToV03(event.message);
  if ("artifactUpdate" in event) {
    const { artifactUpdate } = event;
    return {
      kind: "artifact-update",
      ...artifactUpdate,
      artifact: artifactToV03(artifactUpdate.artifact),
    };
  }
  const { statusUpdate } = event;
  const final = !openStates.includes(statusUpdate.status.state);
  return {
    kind: "status-update",
    ...statusUpdate,
    status: statusToV03(statusUpdate.status),
    final,
  };
}
