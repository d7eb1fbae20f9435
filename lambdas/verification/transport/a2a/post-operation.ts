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
import type { A2aCarrier, BindingName } from "../carrier.ts";
import { createMemberProblem } from "../peer-problem.ts";
import type { TakeResponse } from "../read-events.ts";
import { createTooLargeError } from "../response-body.ts";
import type { TransportRequest, TransportResponse } from "../transport.ts";
import type { Binding, CalledOperation, PassedResponse } from "./binding.ts";
import { httpJson } from "./http-json.ts";
import type { UsableInterface } from "./interfaces.ts";
import { jsonRpc } from "./json-rpc.ts";

const bindings: Readonly<Record<BindingName, Binding>> = {
  JSONRPC: jsonRpc,
  "HTTP+JSON": httpJson,
};

/** Sekisho's A2A extensions. An agent that does not know them ignores them. */
const ownExtensions = [slackMessageKey, questionKey, taskKey];
const extensionsHeader = { "1.0": "a2a-extensions", "0.3": "x-a2a-extensions" } as const;

/** `id` is the same for all requests of one call. */
export type PeerCall = Omit<TransportRequest, "body"> & { id: string };

export type ReceivedSize = Pick<TransportResponse, "shortened" | "receivedBytes">;
export type OperationAnswer<O extends CalledOperation> =
  | ({ result: OperationResult<O>; retryAfterMs: number | undefined } & ReceivedSize)
  | PassedResponse;

/** Takes the result of one event of a stream. `length` is that of the event. True ends the reading. */
export type TakeEvent = (event: { result: unknown; length: number }) => boolean;

/**
 * Adds the interface's tenant to `params`. Throws `unsupported_operation` if the interface lacks the operation. `takeEvent` is for
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
  const { to, operation, params, carrier, extensions, takeEvent } = request;
  const { id, ...exchange } = request.call;
  const binding = bindings[to.binding];
  const bindingRequest = binding.write({ to, operation, params, id });
  if (bindingRequest === undefined) throw new SekishoError("unsupported_operation");
  // A call may read the card and the task before it sends the person's word.
  const asker = exchange.asker && {
    ...exchange.asker,
    isOwnWord: exchange.asker.isOwnWord && operation === "SendMessage",
  };
  const response = await carrier.send({
    ...exchange,
    asker,
    ...bindingRequest,
    headers: {
      ...bindingRequest.headers,
      "a2a-version": to.version,
      // kagent reads the name of 1.0 in 0.3 too.
      ...(extensions.length > 0 && { "a2a-extensions": extensions.join(", ") }),
      [extensionsHeader[to.version]]: [...ownExtensions, ...extensions].join(", "),
      ...(takeEvent && { accept: "text/event-stream, application/json" }),
    },
    readsEvents: readEvents({ to, operation, id, takeEvent }),
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

function readEvents(request: {
  to: UsableInterface;
  operation: CalledOperation;
  id: string;
  takeEvent: TakeEvent | undefined;
}): boolean | TakeResponse {
  const { to, operation, id, takeEvent } = request;
  // A stream is never asked for in answer to a message, but some agents answer every message with one.
  if (takeEvent === undefined) return operation === "SendMessage" && to.binding === "JSONRPC";
  return ({ response: event, length }) => {
    const streamed = bindings[to.binding].readEvent({ event, to, id });
    if (streamed === "skipped") return false;
    return streamed === "failed" || takeEvent({ ...streamed, length });
  };
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
