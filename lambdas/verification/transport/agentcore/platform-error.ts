/**
 * Classifies failures of AgentCore. SDK errors count by HTTP status first and then by name, which is present only if AWS wrote the body.
 * In A2A mode AgentCore returns its errors as JSON-RPC.
 */

import { errorObjectSchema } from "@sekisho/contracts/envelope.ts";
import { type ClientReason, SekishoError } from "@sekisho/contracts/errors.ts";
import { parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";

/** The used parts of an SDK error. `error` is the JSON-RPC error of a body in A2A mode. */
const sdkErrorSchema = z.object({
  name: z.string().catch(""),
  code: z.string().optional().catch(undefined),
  syscall: z.string().optional().catch(undefined),
  error: errorObjectSchema.optional().catch(undefined),
  $metadata: z
    .object({ httpStatusCode: z.int().optional(), requestId: z.string().optional() })
    .catch({}),
  $response: z
    .object({ headers: z.record(z.string(), z.string()).catch({}) })
    .optional()
    .catch(undefined),
});

/** `wasSent` means that the request was handed to the network. Before that, it cannot have arrived. */
export function classify(request: {
  error: unknown;
  wasSent: boolean;
  nowMs: number;
}): SekishoError {
  const { error, wasSent, nowMs } = request;
  const { data } = sdkErrorSchema.safeParse(error);
  const status = data?.$metadata.httpStatusCode;
  if (data === undefined || status === undefined) {
    const neverConnected =
      !wasSent || data?.syscall === "connect" || notConnected.test(data?.code ?? "");
    const reason = neverConnected ? "unavailable" : "ambiguous";
    return new SekishoError(reason, {
      cause: error,
      certainty: neverConnected ? "undelivered" : undefined,
    });
  }
  const retryAfterMs = parseRetryAfter({ header: data.$response?.headers["retry-after"], nowMs });
  const fromBody = data.error === undefined ? undefined : platformReason(data.error);
  return new SekishoError(fromBody ?? readReason({ status, name: data.name }), {
    // Leaves out the SDK's error itself, because it holds the body.
    cause: { name: data.name, status, requestId: data.$metadata.requestId },
    details: retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs },
  });
}

/**
 * Node's error codes that occur only before anything is sent: no address, no listener, no way through the proxy, an untrusted certificate. Other TLS errors
 * (`EPROTO`, `ERR_SSL_…`) may also end a connection after the request was sent.
 */
const notConnected =
  /^(ECONNREFUSED|ENOTFOUND|ERR_PROXY|EAI_\w+|ERR_TLS_CERT_\w+|CERT_\w+|UNABLE_TO_\w+|\w*SELF_SIGNED_CERT\w*)$/;

function readReason({ status, name }: { status: number; name: string }): ClientReason {
  switch (status) {
    case 400:
      return "invalid_request";
    case 401:
      return "unauthenticated";
    case 402:
    case 429:
      return "rate_limited";
    case 403:
      return "permission_denied";
    case 404:
      return "agent_not_found";
    case 409:
      return name === "RetryableConflictException" ? "unavailable" : "invalid_state";
    case 424:
      return "ambiguous";
    default:
      return status >= 500 ? "ambiguous" : "invalid_response";
  }
}

/** AgentCore's message for a temporary conflict. Any other conflict is final. */
const inProgress = /session operation in progress/i;
const maxPlatformErrorBytes = 4096;
const bodySchema = z.object({ error: errorObjectSchema });

/** Returns undefined if AgentCore does not use the code. */
function platformReason({
  code,
  message,
}: {
  code: number;
  message: string;
}): ClientReason | undefined {
  switch (code) {
    case -32051:
    case -32501:
      return "agent_not_found";
    case -32052:
    case -32502:
      return "invalid_request";
    case -32053:
    case -32503:
      return "rate_limited";
    case -32054:
    case -32504:
      return inProgress.test(message) ? "unavailable" : "invalid_state";
    case -32055:
    case -32505:
      return "ambiguous";
    default:
      return undefined;
  }
}

/** Finds a platform error in a body with HTTP 200. No dialect uses these codes, so an agent's own error never matches. */
export function findPlatformError(body: Uint8Array): SekishoError | undefined {
  if (body.byteLength > maxPlatformErrorBytes) return undefined;
  const error = bodySchema.safeParse(parseJson(Buffer.from(body).toString())).data?.error;
  const reason = error && platformReason(error);
  return reason && new SekishoError(reason, { code: error.code });
}
