/** The events of 0.3's streams (section 7.2), of which two are also what a message is answered with: read as 1.0's, and written from them. */
import * as z from "zod";
import { type A2aState, artifactUpdateSchema, type StreamEvent, statusUpdateSchema } from "../task.ts";
import { artifactToV03, messageToV03, v03ArtifactSchema, v03MessageSchema } from "./message.ts";
import { statusToV03, taskToV03, v03StatusSchema, v03TaskSchema } from "./task.ts";

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

/** `final` says that the agent does no more by itself: the task has ended, or waits for its client. */
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
