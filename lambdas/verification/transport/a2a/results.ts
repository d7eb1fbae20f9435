/** What an agent answers an operation with, read as 1.0 whatever version it is in. */
import * as z from "zod";
import type { A2aVersion } from "../../../../contracts/a2a/operations.ts";
import { hasTooManyEntries, readAnswerSchema, readTaskSchema } from "../../../../contracts/a2a/read-task.ts";
import { v03ReadAnswerSchema, v03ReadTaskSchema } from "../../../../contracts/a2a/v03/task.ts";
import { idSchema, optionalText, readableList } from "../../../../contracts/a2a/values.ts";
import { SekishoError } from "../../../../contracts/errors.ts";

/** The operations that Sekisho calls. */
export type Operation = "SendMessage" | "GetTask" | "CancelTask" | "ListTasks";

/** A page of a listing: of each task only what finds one again, so that another one that is broken does no harm. */
const listedTaskSchema = z.object({
  id: idSchema,
  history: readableList(z.object({ messageId: z.string() })).catch([]),
});
const listingSchema = z.object({
  tasks: readableList(listedTaskSchema).default([]),
  nextPageToken: optionalText(4096),
});

const schemas = {
  "1.0": {
    SendMessage: readAnswerSchema,
    GetTask: readTaskSchema,
    CancelTask: readTaskSchema,
    ListTasks: listingSchema,
  },
  "0.3": {
    SendMessage: v03ReadAnswerSchema,
    GetTask: v03ReadTaskSchema,
    CancelTask: v03ReadTaskSchema,
    ListTasks: listingSchema,
  },
} as const;

export type ResultOf<O extends Operation> = z.output<(typeof schemas)["1.0"][O]>;

/**
 * Throws `invalid_response` for a shape that the operation does not have, or a state that nobody knows. Of a task that is
 * completed it ends the task: the agent would say the same again.
 */
export function readResult<O extends Operation>({
  operation,
  version,
  result,
}: {
  operation: O;
  version: A2aVersion;
  result: unknown;
}): ResultOf<O> {
  if (hasTooManyEntries(result)) throw new SekishoError("invalid_response", { endsTask: isCompleted(result) });
  const parsed = schemas[version][operation].safeParse(result);
  if (parsed.success) return parsed.data as ResultOf<O>;
  throw new SekishoError("invalid_response", { cause: parsed.error, endsTask: isCompleted(result) });
}

const stateSchema = z.object({ status: z.object({ state: z.enum(["completed", "TASK_STATE_COMPLETED"]) }) });
const completedSchema = z.union([stateSchema, z.object({ task: stateSchema })]);

function isCompleted(result: unknown): boolean {
  return completedSchema.safeParse(result).success;
}
