/**
 * The wrappers around a call to the Execution zone: a log line and a span for each attempt, metrics, retries, and the circuit breaker.
 */

import { canRepeat, isUndelivered, isUnknown } from "@sekisho/contracts/certainty.ts";
import { type ClientReason, isRetryable, SekishoError } from "@sekisho/contracts/errors.ts";
import { isDedupedId } from "@sekisho/contracts/methods.ts";
import { backoffMs } from "@sekisho/runtime/async/waiting.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log, LogFields } from "@sekisho/runtime/log.ts";
import {
  type Metrics,
  readTraceId,
  type SpanStart,
  type Spans,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import { PeerProblem } from "./peer-problem.ts";
import type { RunningCall, Wrapper } from "./transport.ts";

/** Logs one line per attempt: ids, kinds and the duration, never params, results or error messages. */
export function callLog({ log, now }: { log: Log; now: () => number }): Wrapper {
  return (next) => async (call) => {
    const startedAtMs = now();
    const fields = () => ({ ...createLogFields(call), duration_ms: now() - startedAtMs });
    try {
      const result = await next(call);
      log.info("call_answered", fields());
      return result;
    } catch (cause) {
      const error = SekishoError.from(cause);
      const { task_id = error.details.task_id, ...others } = fields();
      const { reason, code } = error;
      log.warn("call_failed", {
        task_id,
        ...others,
        reason,
        code,
        cause_kind: error.cause === undefined ? undefined : errorKind(error.cause),
      });
      throw error;
    }
  };
}

function createLogFields({ method, params, requestId, attempt, trace }: RunningCall): LogFields {
  const { task_id } = { task_id: undefined, ...params };
  return {
    request_id: requestId,
    task_id,
    operation: method,
    attempt,
    trace_id: readTraceId(trace),
  };
}

type Measured = { metrics: Metrics; destination: string };

/** Counts each call once, however many attempts it takes, and also counts the calls that an open circuit refuses. */
export function measureCalls({
  metrics,
  destination,
  now,
}: Measured & { now: () => number }): Wrapper {
  return (next) => async (call) => {
    const operation = call.method;
    const startedAtMs = now();
    const recordEnd = (result: string) => {
      metrics.add("sekisho_calls_total", { destination, operation, result });
      metrics.observe(
        "sekisho_call_seconds",
        { destination, operation },
        Math.max(0, now() - startedAtMs) / 1000,
      );
    };
    try {
      const answer = await next(call);
      recordEnd("ok");
      return answer;
    } catch (cause) {
      const error = SekishoError.from(cause);
      recordEnd(error.reason);
      throw error;
    }
  };
}

/** Counts retries. It must be inside `retry`, to see each attempt. */
export function measureRetries({ metrics, destination }: Measured): Wrapper {
  return (next) => (call) => {
    if (call.attempt > 1)
      metrics.add("sekisho_retries_total", { destination, operation: call.method });
    return next(call);
  };
}

/** `address` and `port` are present only if they are known before the first call. */
export type Peer = { destination: string; address?: string | undefined; port?: number | undefined };

/** Creates a span per attempt, by OpenTelemetry's conventions for JSON-RPC. It is the parent of the peer's own spans. */
export function span({ spans, peer }: { spans: Spans; peer: Peer }): Wrapper {
  return (next) => (call) =>
    spans.within(startAttempt({ call, peer }), async (span) => {
      try {
        return await next({ ...call, trace: span.trace, span });
      } catch (error) {
        const { code } = SekishoError.from(error);
        span.set({ "rpc.response.status_code": code === undefined ? undefined : String(code) });
        throw error;
      }
    });
}

function startAttempt({ call, peer }: { call: RunningCall; peer: Peer }): SpanStart {
  return {
    name: call.method,
    kind: "client",
    trace: call.trace,
    attributes: {
      "rpc.system.name": "jsonrpc",
      "rpc.method": call.method,
      "jsonrpc.protocol.version": "2.0",
      "jsonrpc.request.id": call.id,
      "server.address": peer.address,
      "server.port": peer.port,
      "sekisho.request_id": call.requestId,
      "sekisho.destination": peer.destination,
      "sekisho.attempt": call.attempt,
    },
  };
}

/**
 * Refuses calls to a destination for `openMs` after `maxFailures` outages in a row, then lets one call through as a probe. Each process
 * has its own state per destination. A refusal is `unavailable` and `undelivered`. A running call is never interrupted.
 */
export function circuitBreaker(options: {
  log: Log;
  now: () => number;
  /** Called at each call, to report the state of the circuit. */
  onState?: (state: { isOpen: boolean }) => void;
  maxFailures?: number;
  openMs?: number;
}): Wrapper {
  const { log, now, onState = () => {}, maxFailures = 5, openMs = 10_000 } = options;
  let failures = 0;
  let openUntilMs = 0;
  let isProbing = false;

  function countSuccess(call: RunningCall): void {
    if (failures >= maxFailures) log.info("circuit_closed", readIds(call));
    failures = 0;
  }

  function countOutage(call: RunningCall): void {
    failures += 1;
    if (failures < maxFailures) return;
    if (failures === maxFailures)
      log.warn("circuit_opened", { ...readIds(call), delay_ms: openMs });
    openUntilMs = now() + openMs;
  }

  return (next) => async (call) => {
    const isTripped = failures >= maxFailures;
    // A vote neither opens the circuit nor probes it, because what a host makes of votes must not keep tasks from it.
    const isVote = call.method === "feedback";
    if (isVote && !isTripped) return next(call);
    if (isTripped) {
      const waitMs = openUntilMs - now();
      if (waitMs > 0 || isProbing || isVote) {
        onState({ isOpen: true });
        throw new SekishoError("unavailable", {
          details: { retry_after_ms: Math.max(waitMs, 0) },
          certainty: "undelivered",
        });
      }
      isProbing = true;
    }
    try {
      const result = await next(call);
      countSuccess(call);
      return result;
    } catch (cause) {
      const error = SekishoError.from(cause);
      // A caller that gave up says nothing about the peer.
      if (!call.signal.aborted) isOutage(error) ? countOutage(call) : countSuccess(call);
      throw error;
    } finally {
      onState({ isOpen: failures >= maxFailures });
      if (isTripped) isProbing = false;
    }
  };
}

function readIds({ requestId, trace }: RunningCall): LogFields {
  return { request_id: requestId, trace_id: readTraceId(trace) };
}

function isOutage({ reason }: SekishoError): boolean {
  return reason === "unavailable" || reason === "ambiguous";
}

const maxAttempts = 3;
const retryPause = { baseMs: 200, capMs: 5000 };

/** Resolves after `ms`. Rejects as soon as `signal` aborts. */
export type Sleep = (request: { ms: number; signal: AbortSignal }) => Promise<void>;

/**
 * Repeats an attempt with the same id if it certainly did nothing, or if the peer deduplicates it. Waits for `retry_after_ms` plus a
 * backoff with full jitter, and gives up if the call's time ends before that. An ambiguous attempt is repeated only once here, because
 * the caller has more time for further retries.
 */
export function retry(options: {
  idempotent: boolean;
  now: () => number;
  sleep: Sleep;
  random: () => number;
}): Wrapper {
  const { idempotent, now, sleep, random } = options;
  return (next) => async (call) => {
    let mayHaveArrived = false;
    let neverDelivered = true;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await next({ ...call, attempt });
      } catch (cause) {
        const lastError = toTrustedError(call, SekishoError.from(cause), idempotent);
        neverDelivered &&= isUndelivered(lastError);
        const error = neverDelivered ? lastError : dropUndelivered(lastError);
        const ms =
          (error.details.retry_after_ms ?? 0) +
          backoffMs({ ...retryPause, attempt: attempt - 1, random });
        const isRepeatable = isUnknown(error)
          ? !mayHaveArrived && isDeduplicated(call, idempotent)
          : canRepeat(error) && isRepeatedInCall(error.reason);
        const outcome = mayHaveArrived ? toDoubtfulError(call, error) : error;
        if (
          !isRepeatable ||
          attempt >= maxAttempts ||
          call.signal.aborted ||
          now() + ms >= call.endsAtMs
        )
          throw outcome;
        mayHaveArrived ||= isUnknown(error);
        await sleep({ ms, signal: call.signal }).catch(() => {
          throw mayHaveArrived ? toDoubtfulError(call, error) : error;
        });
      }
    }
  };
}

/** True if the call itself may retry. `session_ending` needs another session, which the caller chooses. */
export function isRepeatedInCall(reason: ClientReason): boolean {
  return isRetryable(reason) && reason !== "session_ending";
}

/**
 * A bare 503 may come from a proxy that has passed the request on. If the peer does not deduplicate, such a 503 is ambiguous unless the
 * peer itself says that it stored nothing.
 */
function toTrustedError(call: RunningCall, error: SekishoError, idempotent: boolean): SekishoError {
  const { reason, details } = error;
  const mayHaveRun =
    call.method === "execute_task" &&
    !idempotent &&
    reason === "unavailable" &&
    !isUndelivered(error);
  return mayHaveRun ? new SekishoError("ambiguous", { details, cause: error }) : error;
}

/** A read may always be repeated. Hosts deduplicate `execute_task` by UUIDs only, and every other method with any id. */
function isDeduplicated(call: RunningCall, idempotent: boolean): boolean {
  if (call.method === "get_task") return true;
  return idempotent && (call.method !== "execute_task" || isDedupedId(call.id));
}

/** Makes an `undelivered` error a refusal, because an earlier attempt may have arrived. */
function dropUndelivered(error: SekishoError): SekishoError {
  if (!isUndelivered(error)) return error;
  const { reason, details, code, cause } = error;
  return new SekishoError(reason, {
    details,
    cause,
    ...(code === undefined ? {} : { code }),
  });
}

/** These reasons are about the call alone and say nothing about the task. */
const unrelatedReasons: readonly ClientReason[] = [
  "unauthenticated",
  "permission_denied",
  "asker_unverified",
  "agent_not_found",
  "internal",
];

/** Keeps the outcome ambiguous, because an earlier attempt may have arrived even if a later one certainly did nothing. */
function toDoubtfulError({ method }: RunningCall, error: SekishoError): SekishoError {
  const isAboutCall =
    unrelatedReasons.includes(error.reason) ||
    (error.cause instanceof PeerProblem && error.cause.isRefusal);
  const isRefusal = method === "execute_task" && isAboutCall;
  if (!canRepeat(error) && !isRefusal) return error;
  return new SekishoError("ambiguous", { details: error.details, cause: error });
}
