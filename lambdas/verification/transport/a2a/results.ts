/** What an agent answers an operation with, read as 1.0 whatever version it is in. Pure. */
import * as z from "zod";
import type { A2aVersion } from "../../../../contracts/a2a/operations.ts";
import { a2aTaskSchema, sendResultSchema } from "../../../../contracts/a2a/task.ts";
import { v03SendResultSchema } from "../../../../contracts/a2a/v03/events.ts";
import { v03TaskSchema } from "../../../../contracts/a2a/v03/task.ts";
import { optionalText } from "../../../../contracts/a2a/values.ts";
import { SekishoError } from "../../../../contracts/errors.ts";

/** The operations that Sekisho calls. */
export type Operation = "SendMessage" | "GetTask" | "CancelTask" | "ListTasks";

/** A page of a listing: of each task only what finds one again, so that another one that is broken does no harm. */
const listingSchema = z.object({
  tasks: z
    .array(
      z
        .object({ id: z.string(), history: z.array(z.object({ messageId: z.string() })).catch([]) })
        .optional()
        .catch(undefined),
    )
    .default([]),
  nextPageToken: optionalText(4096),
});

const schemas = {
  "1.0": {
    SendMessage: sendResultSchema,
    GetTask: a2aTaskSchema,
    CancelTask: a2aTaskSchema,
    ListTasks: listingSchema,
  },
  "0.3": {
    SendMessage: v03SendResultSchema,
    GetTask: v03TaskSchema,
    CancelTask: v03TaskSchema,
    ListTasks: listingSchema,
  },
} as const;

export type ResultOf<O extends Operation> = z.output<(typeof schemas)["1.0"][O]>;

/** Throws `invalid_response` for a shape that the operation does not have, or a state that nobody knows. */
export function readResult<O extends Operation>({
  operation,
  version,
  result,
}: {
  operation: O;
  version: A2aVersion;
  result: unknown;
}): ResultOf<O> {
  const parsed = schemas[version][operation].safeParse(result);
  if (!parsed.success) throw new SekishoError("invalid_response", { cause: parsed.error });
  return parsed.data as ResultOf<O>;
}
