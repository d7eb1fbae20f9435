/** Sends one A2A operation as one request to one interface, and converts the response of either binding and version to 1.0. */

import { questionKey, slackMessageKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import {
  hasTooManyEntries,
  isCompleted,
  readAnswerSchema,
  readTaskSchema,
} from "@sekisho/contracts/a2a/read-task.ts";
import { idSchema, optionalText, readableList } from "@sekisho/contracts/a2a/values.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import * as z from "zod";
import { type AuthorizedSend, requestHeaders } from "../http/transport.ts";
import { createMemberProblem } from "../peer-problem.ts";
import { createTooLargeError } from "../response-body.ts";
import type { TransportRequest, TransportResponse } from "../transport.ts";
import type { Binding, CalledOperation, PassedResponse } from "./binding.ts";
import { httpJson } from "./http-json.ts";
import type { BindingName, UsableInterface } from "./interfaces.ts";
import { jsonRpc } from "./json-rpc.ts";

const bindings: Readonly<Record<BindingName, Binding>> = {
  JSONRPC: jsonRpc,
  "HTTP+JSON": httpJson,
};

/** Sekisho's A2A extensions. An agent that does not know them ignores them. */
const extensions = [slackMessageKey, questionKey, taskKey].join(", ");
const extensionsHeader = { "1.0": "a2a-extensions", "0.3": "x-a2a-extensions" } as const;

/** `id` is the same for all requests of one call. */
export type PeerCall = Omit<TransportRequest, "body"> & { id: string };

export type ReceivedSize = Pick<TransportResponse, "shortened" | "receivedBytes">;
export type OperationAnswer<O extends CalledOperation> =
  | ({ result: OperationResult<O>; retryAfterMs: number | undefined } & ReceivedSize)
  | PassedResponse;

/** Adds the interface's tenant to `params`. Throws `unsupported_operation` if the version lacks the operation. */
export async function postOperation<O extends CalledOperation>(request: {
  to: UsableInterface;
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
  http: AuthorizedSend;
  maxResponseBytes: number;
}): Promise<OperationAnswer<O>> {
  const { to, operation, params, http, maxResponseBytes } = request;
  const { id, sessionId, trace, signal } = request.call;
  const binding = bindings[to.binding];
  const bindingRequest = binding.write({ to, operation, params, id });
  if (bindingRequest === undefined) throw new SekishoError("unsupported_operation");
  const { headers: bindingHeaders, ...target } = bindingRequest;
  const response = await http.send({
    ...target,
    headers: {
      ...requestHeaders({ sessionId, trace }),
      ...bindingHeaders,
      "a2a-version": to.version,
      [extensionsHeader[to.version]]: extensions,
    },
    signal,
    maxResponseBytes,
    shortens: true,
    // A stream is never asked for, but some agents answer every message with one.
    readsEvents: operation === "SendMessage" && to.binding === "JSONRPC",
  });
  const { status, retryAfterMs, body, shortened } = response;
  const answer = binding.read({
    ...{ to, operation, params, id },
    response: { status, retryAfterMs, body, shortened },
  });
  if ("passed" in answer) return answer;
  try {
    const result = readResult({ operation, result: answer.result });
    return { result, retryAfterMs, shortened, receivedBytes: body.byteLength };
  } catch (error) {
    // A cut string may no longer match the schema.
    throw shortened ? createTooLargeError() : error;
  }
}

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
