/** Tasks of A2A 0.3 (sections 6.1 to 6.3) and the events of its streams (section 7.2): read as those of 1.0, and written from them. */
import * as z from "zod";
import { createReadSchemas, type ReadAnswer, readPartSchema } from "../read-task.ts";
import {
  type A2aState,
  type A2aStatus,
  type A2aTask,
  a2aTaskSchema,
  artifactUpdateSchema,
  type StreamEvent,
  statusUpdateSchema,
} from "../task.ts";
import { optionalValue } from "../values.ts";
import {
  artifactToV03,
  createV03PartSchema,
  messageToV03,
  v03ArtifactSchema,
  v03MessageSchema,
  v03RoleSchema,
} from "./message.ts";

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
const v03StateSchema = z.enum(stateNames).transform((state) => states[state]);

const v03StatusSchema = a2aTaskSchema.shape.status.extend({
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
  const state = status.state.slice("TASK_STATE_".length).toLowerCase().replace("_", "-") as keyof typeof states;
  return { ...status, state, message: status.message && messageToV03(status.message) };
}

const { task, answer } = createReadSchemas({
  part: createV03PartSchema(readPartSchema),
  state: v03StateSchema,
  role: v03RoleSchema,
});

/** A task or a message of A2A 0.3 as a client reads it: as one of 1.0, and as leniently. */
export const v03ReadTaskSchema = task;

/** The result of `message/send`: a task or a message, told apart by its `kind`. */
export const v03ReadAnswerSchema: z.ZodType<ReadAnswer> = z.discriminatedUnion("kind", [
  task.extend({ kind: z.literal("task") }).transform(({ kind: _, ...read }) => ({ task: read })),
  answer.extend({ kind: z.literal("message") }).transform(({ kind: _, ...read }) => ({ message: read })),
]);

const taskEvent = v03TaskSchema.extend({ kind: z.literal("task") }).transform(({ kind: _, ...task }) => ({ task }));
const messageEvent = v03MessageSchema
  .extend({ kind: z.literal("message") })
  .transform(({ kind: _, ...message }) => ({ message }));
/** `final` is not read: 1.0 has no such word, the end of a stream is where it closes. */
const statusEvent = statusUpdateSchema
  .extend({ kind: z.literal("status-update"), status: v03StatusSchema })
  .transform(({ kind: _, ...statusUpdate }) => ({ statusUpdate }));
const artifactEvent = artifactUpdateSchema
  .extend({ kind: z.literal("artifact-update"), artifact: v03ArtifactSchema })
  .transform(({ kind: _, ...artifactUpdate }) => ({ artifactUpdate }));

/** The result in each response of a stream, and the body of a push notification. */
export const v03EventSchema: z.ZodType<StreamEvent> = z.discriminatedUnion("kind", [
  taskEvent,
  messageEvent,
  statusEvent,
  artifactEvent,
]);

const openStates: readonly A2aState[] = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];

/**
 * The events of 0.3's streams (section 7.2), of which two are also what a message is answered with: read as 1.0's, and written from them.
 * `final` says that the agent does no more by itself: the task has ended, or waits for its client.
 */
export function eventToV03(event: StreamEvent): unknown {
  if ("task" in event) return taskToV03(event.task);
  if ("message" in event) return messageToV03(event.message);
  if ("artifactUpdate" in event) {
    const { artifactUpdate } = event;
    return { kind: "artifact-update", ...artifactUpdate, artifact: artifactToV03(artifactUpdate.artifact) };
  }
  const { statusUpdate } = event;
  const final = !openStates.includes(statusUpdate.status.state);
  return { kind: "status-update", ...statusUpdate, status: statusToV03(statusUpdate.status), final };
}
