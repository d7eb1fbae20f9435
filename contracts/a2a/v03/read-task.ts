/** A task or a message of A2A 0.3 as a client reads it: as one of 1.0, and as leniently. */
import * as z from "zod";
import { type ReadAnswer, readPartSchema, readSchemasOf } from "../read-task.ts";
import { v03RoleSchema } from "./message.ts";
import { v03PartSchemaOf } from "./part.ts";
import { v03StateSchema } from "./task.ts";

const { task, answer } = readSchemasOf({
  part: v03PartSchemaOf(readPartSchema),
  state: v03StateSchema,
  role: v03RoleSchema,
});

export const v03ReadTaskSchema = task;

/** The result of `message/send`: a task or a message, told apart by its `kind`. */
export const v03ReadAnswerSchema: z.ZodType<ReadAnswer> = z.discriminatedUnion("kind", [
  task.extend({ kind: z.literal("task") }).transform(({ kind: _, ...read }) => ({ task: read })),
  answer.extend({ kind: z.literal("message") }).transform(({ kind: _, ...read }) => ({ message: read })),
]);
