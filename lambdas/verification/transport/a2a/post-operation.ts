/** Sends one A2A operation as one JSON-RPC request to one interface, and converts the response of either version to 1.0. */

import { questionKey, slackMessageKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import { type OperationParams, toA2aMethod } from "@sekisho/contracts/a2a/operations.ts";
import {
  hasTooManyEntries,
  isCompleted,
  readAnswerSchema,
  readTaskSchema,
} from "@sekisho/contracts/a2a/read-task.ts";
import { paramsToV03 } from "@sekisho/contracts/a2a/v03/params.ts";
import { idSchema, optionalText, readableList } from "@sekisho/contracts/a2a/values.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import * as z from "zod";
import type { A2aCarrier } from "../carrier.ts";
import { createMemberProblem } from "../peer-problem.ts";
import { parseEnvelope } from "../read-response.ts";
import { createTooLargeError } from "../response-body.ts";
import type { TransportRequest, TransportResponse } from "../transport.ts";
import type { UsableInterface } from "./interfaces.ts";

/** Sekisho's A2A extensions. An agent that does not know them ignores them. */
const ownExtensions = [slackMessageKey, questionKey, taskKey];
const extensionsHeader = { "1.0": "a2a-extensions", "0.3": "x-a2a-extensions" } as const;

/** `id` is the JSON-RPC id of all requests of one call. */
export type PeerCall = Omit<TransportRequest, "body"> & { id: string };

/** A response without a result for this call (an error, another id, no JSON-RPC), which the caller passes on unchanged. */
export type PassedResponse = { passed: TransportResponse };
export type ReceivedSize = Pick<TransportResponse, "shortened" | "receivedBytes">;
export type OperationAnswer<O extends CalledOperation> =
  | ({ result: OperationResult<O>; retryAfterMs: number | undefined } & ReceivedSize)
  | PassedResponse;

/** Takes the result of one event of a stream. `length` is that of the event. True ends the reading. */
export type TakeEvent = (event: { result: unknown; length: number }) => boolean;

/**
 * Adds the interface's tenant to `params`. Throws `unsupported_operation` if the version lacks the operation. `takeEvent` is for
 * `SubscribeToTask`, whose result is that of the last event that was read.
 */
export async function postOperation<O extends CalledOperation>(request: {
  to: UsableInterface;
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
  carrier: A2aCarrier;
  /** Those of others that the card names and Sekisho uses. */
  extensions: readonly string[];
  takeEvent?: TakeEvent | undefined;
}): Promise<OperationAnswer<O>> {
  const { operation, params, carrier, extensions, takeEvent } = request;
  const { url, version, tenant } = request.to;
  const { id, ...exchange } = request.call;
  const method = toA2aMethod({ operation, version });
  if (method === undefined) throw new SekishoError("unsupported_operation");
  // Version 0.3 has no `ListTasks`; `method` was undefined for it.
  const inV03 = operation as Exclude<O, "ListTasks">;
  const versionParams =
    version === "1.0" ? { ...params, tenant } : paramsToV03({ operation: inV03, params });
  const response = await carrier.send({
    ...exchange,
    url,
    headers: {
      "a2a-version": version,
      // kagent reads the name of 1.0 in 0.3 too.
      ...(extensions.length > 0 && { "a2a-extensions": extensions.join(", ") }),
      [extensionsHeader[version]]: [...ownExtensions, ...extensions].join(", "),
      ...(takeEvent && { accept: "text/event-stream, application/json" }),
    },
    body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params: versionParams })),
    // Some agents answer every message with a stream.
    readsEvents: takeEvent
      ? ({ response, length }) => {
          const { result } = response;
          return response.id !== id || result === undefined || takeEvent({ result, length });
        }
      : operation === "SendMessage",
  });
  const { status, retryAfterMs, body, shortened } = response;
  const envelope = parseEnvelope({ body, repairs: true });
  const isOthers = envelope === undefined || "error" in envelope || envelope.id !== id;
  if (isOthers) return { passed: { status, retryAfterMs, body, shortened } };
  try {
    const result = readResult({ operation, result: envelope.result });
    return { result, retryAfterMs, shortened, receivedBytes: body.byteLength };
  } catch (error) {
    // A cut string may no longer match the schema.
    throw shortened ? createTooLargeError() : error;
  }
}

export type CalledOperation =
  | "SendMessage"
  | "GetTask"
  | "SubscribeToTask"
  | "CancelTask"
  | "ListTasks";

/** Only the members needed to find a task, so that a broken task in the listing does no harm. */
const listedTaskSchema = z.object({
  id: idSchema,
  history: readableList(z.object({ messageId: z.string() })).catch([]),
});
const listingSchema = z.object({
  tasks: readableList(listedTaskSchema).default([]),
  nextPageToken: optionalText(4096),
});

/** The same for both versions, because agents mix them. */
const schemas = {
  SendMessage: readAnswerSchema,
  GetTask: readTaskSchema,
  SubscribeToTask: z.unknown(),
  CancelTask: readTaskSchema,
  ListTasks: listingSchema,
} as const;

type OperationResult<O extends CalledOperation> = z.output<(typeof schemas)[O]>;

/**
 * Throws `invalid_response` for a wrong shape or an unknown state. If the task is completed, the error ends it, because a retry would
 * return the same.
 */
export function readResult<O extends CalledOperation>(request: {
  operation: O;
  result: unknown;
}): OperationResult<O> {
  const { operation, result } = request;
  const parsedResult = hasTooManyEntries(result) ? undefined : schemas[operation].safeParse(result);
  if (parsedResult?.success) return parsedResult.data as OperationResult<O>;
  const issues = parsedResult?.error.issues ?? [
    { path: [], message: "has more artifacts and parts than are read" },
  ];
  throw new SekishoError("invalid_response", {
    cause: createMemberProblem(issues),
    certainty: isCompleted(result) ? "ended" : undefined,
  });
}
