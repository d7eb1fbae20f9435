/** One A2A operation as one JSON-RPC request to one interface of an agent, and its answer, read as 1.0 whatever version it is in. */

import * as z from "zod";
import { questionKey, slackMessageKey, taskKey } from "../../../../contracts/a2a/extension.ts";
import { type A2aVersion, type OperationParams, toA2aMethod } from "../../../../contracts/a2a/operations.ts";
import { hasTooManyEntries, readAnswerSchema, readTaskSchema } from "../../../../contracts/a2a/read-task.ts";
import { paramsToV03 } from "../../../../contracts/a2a/v03/params.ts";
import { v03ReadAnswerSchema, v03ReadTaskSchema } from "../../../../contracts/a2a/v03/task.ts";
import { idSchema, optionalText, readableList } from "../../../../contracts/a2a/values.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import { type AuthorizedSend, requestHeaders } from "../http/transport.ts";
import { createTooLargeError, parseEnvelope } from "../read-response.ts";
import type { TransportRequest, TransportResponse } from "../transport.ts";
import type { UsableInterface } from "./interfaces.ts";

/** Sekisho's A2A extensions. An agent that does not know them ignores them. */
const extensions = [slackMessageKey, questionKey, taskKey].join(", ");
const extensionsHeader = { "1.0": "a2a-extensions", "0.3": "x-a2a-extensions" } as const;

/** `id` is the JSON-RPC id of every request that is made for one call. */
export type PeerCall = Omit<TransportRequest, "body"> & { id: string };

/** A response without a result of this call (an error, another id, no JSON-RPC), which the caller passes on as it is. */
export type PassedResponse = { passed: TransportResponse };
export type OperationAnswer<O extends CalledOperation> =
  | ({ result: OperationResult<O>; retryAfterMs: number | undefined } & Pick<TransportResponse, "shortened">)
  | PassedResponse;

/** The interface's tenant goes with `params`. Throws `unsupported_operation` for what its version lacks. */
export async function postOperation<O extends CalledOperation>({
  to: { url, version, tenant },
  operation,
  params,
  call: { id, sessionId, trace, signal },
  http,
  maxResponseBytes,
}: {
  to: UsableInterface;
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
  http: AuthorizedSend;
  maxResponseBytes: number;
}): Promise<OperationAnswer<O>> {
  const method = toA2aMethod({ operation, version });
  if (method === undefined) throw new SekishoError("unsupported_operation");
  // Version 0.3 has no `ListTasks`, for which `method` is undefined.
  const inV03 = operation as Exclude<O, "ListTasks">;
  const written = version === "1.0" ? { ...params, tenant } : paramsToV03({ operation: inV03, params });
  const response = await http.send({
    method: "POST",
    url,
    headers: {
      ...requestHeaders({ sessionId, trace }),
      "a2a-version": version,
      [extensionsHeader[version]]: extensions,
    },
    body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params: written })),
    signal,
    maxResponseBytes,
    shortens: true,
  });
  const { status, retryAfterMs, body, shortened } = response;
  const envelope = parseEnvelope(body);
  const isOthers = envelope === undefined || "error" in envelope || envelope.id !== id;
  if (isOthers) return { passed: { status, retryAfterMs, body, shortened } };
  try {
    return { result: readResult({ operation, version, result: envelope.result }), retryAfterMs, shortened };
  } catch (thrown) {
    // A cut string may not match the schema any more.
    throw shortened ? createTooLargeError() : thrown;
  }
}

/** The operations that Sekisho calls. */
export type CalledOperation = "SendMessage" | "GetTask" | "CancelTask" | "ListTasks";

/** The parts of a listed task that are needed to find one, so that a broken task in the listing does no harm. */
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

type OperationResult<O extends CalledOperation> = z.output<(typeof schemas)["1.0"][O]>;

/**
 * Throws `invalid_response` for a wrong shape or an unknown state. For a completed task that error ends the task, because the agent would
 * return the same again.
 */
export function readResult<O extends CalledOperation>({
  operation,
  version,
  result,
}: {
  operation: O;
  version: A2aVersion;
  result: unknown;
}): OperationResult<O> {
  if (hasTooManyEntries(result)) throw new SekishoError("invalid_response", { endsTask: isCompleted(result) });
  const parsed = schemas[version][operation].safeParse(result);
  if (parsed.success) return parsed.data as OperationResult<O>;
  throw new SekishoError("invalid_response", { cause: parsed.error, endsTask: isCompleted(result) });
}

const stateSchema = z.object({ status: z.object({ state: z.enum(["completed", "TASK_STATE_COMPLETED"]) }) });
const completedSchema = z.union([stateSchema, z.object({ task: stateSchema })]);

function isCompleted(result: unknown): boolean {
  return completedSchema.safeParse(result).success;
}
