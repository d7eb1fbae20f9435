/** Reads the events of A2A 0.3's streams (section 7.2) as those of 1.0, like a client of 0.3 would. The product only writes them. */

import {
  artifactUpdateSchema,
  type StreamEvent,
  statusUpdateSchema,
} from "@sekisho/contracts/a2a/task.ts";
import { v03ArtifactSchema, v03MessageSchema } from "@sekisho/contracts/a2a/v03/message.ts";
import { v03StatusSchema, v03TaskSchema } from "@sekisho/contracts/a2a/v03/task.ts";
import * as z from "zod";

const taskEvent = v03TaskSchema
  .extend({ kind: z.literal("task") })
  .transform(({ kind: _, ...task }) => ({ task }));
const messageEvent = v03MessageSchema
  .extend({ kind: z.literal("message") })
  .transform(({ kind: _, ...message }) => ({ message }));
/** Ignores `final`, which 1.0 lacks. */
const statusEvent = statusUpdateSchema
  .extend({ kind: z.literal("status-update"), status: v03StatusSchema })
  .transform(({ kind: _, ...statusUpdate }) => ({ statusUpdate }));
const artifactEvent = artifactUpdateSchema
  .extend({ kind: z.literal("artifact-update"), artifact: v03ArtifactSchema })
  .transform(({ kind: _, ...artifactUpdate }) => ({ artifactUpdate }));

export const v03EventSchema: z.ZodType<StreamEvent> = z.discriminatedUnion("kind", [
  taskEvent,
  messageEvent,
  statusEvent,
  artifactEvent,
]);
