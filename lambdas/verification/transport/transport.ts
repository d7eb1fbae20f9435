/** The transport seam: carries the bytes of one JSON-RPC request to a destination and brings the response's bytes back. */

import type { MethodName, ParamsOf, ResultOf } from "../../../contracts/methods.ts";
import type { OpenSpan, Trace } from "../../shared/telemetry/telemetry.ts";

/** `body` is one JSON-RPC Request in UTF-8; `signal` ends the exchange, its body included. */
export type TransportRequest = { body: Uint8Array; sessionId: string; signal: AbortSignal; trace: Trace };

/**
 * One response. `status` is the HTTP status where the transport has one: it counts only where the body is not a JSON-RPC response, or
 * narrows an ambiguous error code. `retryAfterMs` is the delay that the peer asked for. `shortened`: the body was larger than the limit,
 * so its long strings are cut.
 */
export type TransportResponse = {
  body: Uint8Array;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  shortened?: true | undefined;
};

/** The peer's own description, with the url and the version that the transport calls. The texts are untrusted. */
export type PeerDescription = { name: string; url: string; version: string };

/**
 * Knows bytes, deadlines and authentication; never Slack, never tasks.
 * `send` rejects with a SekishoError: `unavailable` only when the request was certainly not delivered,
 * `ambiguous` when nobody knows, `payload_too_large` (with `unread`) or `invalid_response` for what was refused while reading.
 */
export type Transport = {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Ends what the peer keeps warm for the session; present only where the destination asks for it. Stopping twice is fine. */
  stopSession?(request: { sessionId: string; signal: AbortSignal }): Promise<void>;
  /** The peer's description; present only where the transport reads it anyway. Rejects as `send` does. */
  describe?(request: { signal: AbortSignal }): Promise<PeerDescription>;
  /** Closes idle connections. */
  close?(): Promise<void>;
};

/** A call on its way inwards. `endsAtMs` is when its time is over; `attempt` counts from 1. */
export type RunningCall = {
  method: MethodName;
  params: ParamsOf<MethodName>;
  id: string;
  requestId: string;
  sessionId: string;
  trace: Trace;
  /** The span of this attempt, for attributes that are known later. */
  span?: OpenSpan;
  signal: AbortSignal;
  endsAtMs: number;
  attempt: number;
};

/** Rejects with a SekishoError. */
export type CallHandler = (call: RunningCall) => Promise<ResultOf<MethodName>>;
export type Wrapper = (next: CallHandler) => CallHandler;

/** Puts the wrappers around `innermost`. The first wrapper is the outermost. */
export function compose({
  wrappers,
  innermost,
}: {
  wrappers: readonly Wrapper[];
  innermost: CallHandler;
}): CallHandler {
  return wrappers.reduceRight((next, wrapper) => wrapper(next), innermost);
}
