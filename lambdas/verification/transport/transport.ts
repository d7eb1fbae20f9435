/** The transport seam: carries the bytes of one JSON-RPC request to a destination and returns the bytes of the response. */

import type { MethodName, ParamsOf, ResultOf } from "@sekisho/contracts/methods.ts";
import type { CallAsker } from "@sekisho/runtime/asker/asker.ts";
import type { OpenSpan, Trace } from "@sekisho/runtime/telemetry/telemetry.ts";

/** `body` is one JSON-RPC request in UTF-8. `signal` also ends the reading of the response body. */
export type TransportRequest = {
  body: Uint8Array;
  sessionId: string;
  /** The person behind the call, for destinations that are told. */
  asker?: CallAsker | undefined;
  signal: AbortSignal;
  trace: Trace;
};

/**
 * `status` is the HTTP status, if the transport has one. It counts only if the body is not a JSON-RPC response, or to narrow an ambiguous
 * error code. `retryAfterMs` is the delay that the peer requested. `shortened` means that the
 * body exceeded the limit, so that its long strings are cut. `explanation` is what the agent says to the person about an error.
 * `receivedBytes` is the size of the peer's own response, if `body` was made from it.
 */
export type TransportResponse = {
  body: Uint8Array;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  shortened?: true | undefined;
  explanation?: string | undefined;
  receivedBytes?: number | undefined;
};

/** The peer's description of itself, with the URL and version that the transport calls. The texts are untrusted. */
export type PeerDescription = { name: string; url: string; version: string };

/**
 * A transport handles bytes, deadlines and authentication. It knows neither Slack nor tasks.
 * `send` rejects with a SekishoError: `unavailable` only if the request certainly did not arrive, `ambiguous` if that is unknown, and
 * `payload_too_large` (which is `unread`) or `invalid_response` for a response that cannot be read.
 */
export type Transport = {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Stops the peer's warm session. Present only if the configuration asks for it. Stopping twice is safe. */
  stopSession?(request: { sessionId: string; signal: AbortSignal }): Promise<void>;
  /** Returns the peer's description. Present only if the transport reads one to make calls. Rejects like `send`. */
  describe?(request: { sessionId: string; signal: AbortSignal }): Promise<PeerDescription>;
  /** Closes idle connections. */
  close?(): Promise<void>;
};

/** A call as the wrappers pass it on. `endsAtMs` is the end of its time. `attempt` counts from 1. */
export type RunningCall = {
  method: MethodName;
  params: ParamsOf<MethodName>;
  id: string;
  requestId: string;
  sessionId: string;
  asker?: CallAsker | undefined;
  trace: Trace;
  /** The span of this attempt, for attributes that become known later. */
  span?: OpenSpan;
  signal: AbortSignal;
  endsAtMs: number;
  attempt: number;
};

/** Rejects with a SekishoError. */
export type CallHandler = (call: RunningCall) => Promise<ResultOf<MethodName>>;
export type Wrapper = (next: CallHandler) => CallHandler;

/** Puts the wrappers around `innermost`. The first wrapper is the outermost. */
export function compose(request: {
  wrappers: readonly Wrapper[];
  innermost: CallHandler;
}): CallHandler {
  const { wrappers, innermost } = request;
  return wrappers.reduceRight((next, wrapper) => wrapper(next), innermost);
}
