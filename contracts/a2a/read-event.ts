/** Reads an event of a task's stream as a client (A2A 1.0, section 4.2), in the form of either version. */
import * as z from "zod";
import {
  type ReadShape,
  type ReadTask,
  readArtifactSchema,
  readOneOf,
  readStatusSchema,
  readTaskMetadata,
  taskShape,
} from "./read-task.ts";
import { idSchema } from "./values.ts";

const statusUpdateSchema = z.object({
  taskId: idSchema,
  status: readStatusSchema,
  metadata: readTaskMetadata,
});

/** `append` adds the parts to the artifact of that id. Otherwise they replace it. */
const artifactUpdateSchema = z.object({
  taskId: idSchema,
  artifact: readArtifactSchema,
  append: z.boolean().optional().catch(undefined),
});

export type ReadEvent =
  | { task: ReadTask }
  | { statusUpdate: z.output<typeof statusUpdateSchema> }
  | { artifactUpdate: z.output<typeof artifactUpdateSchema> };

const eventShapes: readonly ReadShape<ReadEvent>[] = [
  taskShape,
  {
    member: "statusUpdate",
    kind: "status-update",
    schema: statusUpdateSchema.transform((statusUpdate) => ({ statusUpdate })),
  },
  {
    member: "artifactUpdate",
    kind: "artifact-update",
    schema: artifactUpdateSchema.transform((artifactUpdate) => ({ artifactUpdate })),
  },
];

/** A task's stream has no bare messages. */
export const readEventSchema = readOneOf({
  shapes: eventShapes,
  expected: "no event of a task",
});
