/** Repeats an attempt, always with the same id: what certainly did nothing, or what the peer is known to deduplicate. */

import { type ClientReason, SekishoError } from "../../../../contracts/errors.ts";
import { dedupedIdSchema } from "../../../../contracts/methods.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import type { RunningCall, Wrapper } from "./wrapper.ts";

/** Resolves after `ms`, or rejects as soon as `signal` aborts. */
export type Sleep = (request: { ms: number; signal: AbortSignal }) => Promise<void>;

/**
 * Full jitter on top of what the peer asked for (`retry_after_ms`); what does not fit into the time left is not tried.
 * An ambiguous attempt is repeated once; further repetitions are the caller's, who has more time.
 */
export function retry({
  idempotent,
  now,
  sleep,
  random,
  maxAttempts = 3,
  baseMs = 200,
  capMs = 5000,
}: {
  idempotent: boolean;
  now: () => number;
  sleep: Sleep;
  random: () => number;
  maxAttempts?: number;
  baseMs?: number;
  capMs?: number;
}): Wrapper {
  return (next) => async (call) => {
    let mayHaveArrived = false;
    let undelivered = true;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await next({ ...call, attempt });
      } catch (thrown) {
        const last = believed({ call, error: SekishoError.from(thrown), idempotent });
        undelivered &&= last.undelivered;
        const error = undelivered ? last : delivered(last);
        const ms = (error.details.retry_after_ms ?? 0) + backoffMs({ attempt: attempt - 1, baseMs, capMs, random });
        const repeatable =
          error.reason === "ambiguous" ? !mayHaveArrived && isDeduplicated({ call, idempotent }) : error.retryable;
        const outcome = mayHaveArrived ? inDoubt(call, error) : error;
        if (!repeatable || attempt >= maxAttempts || call.signal.aborted || now() + ms >= call.endsAtMs) throw outcome;
        mayHaveArrived ||= error.reason === "ambiguous";
        await sleep({ ms, signal: call.signal }).catch(() => {
          throw mayHaveArrived ? inDoubt(call, error) : error;
        });
      }
    }
  };
}

/**
 * Who answered a bare 503 is not known: a proxy may have passed the request on before. A peer that would run the task again is
 * believed only where it says itself that it took nothing.
 */
function believed({
  call,
  error,
  idempotent,
}: {
  call: RunningCall;
  error: SekishoError;
  idempotent: boolean;
}): SekishoError {
  const { reason, undelivered, details } = error;
  const mayHaveRun = call.method === "execute_task" && !idempotent && reason === "unavailable" && !undelivered;
  return mayHaveRun ? new SekishoError("ambiguous", { details, cause: error }) : error;
}

/** The host deduplicates UUIDs only; the methods besides `execute_task` may be repeated with any id. */
function isDeduplicated({ call, idempotent }: { call: RunningCall; idempotent: boolean }): boolean {
  return idempotent && (call.method !== "execute_task" || dedupedIdSchema.safeParse(call.id).success);
}

/** An earlier attempt may have left something there, whatever the last one came to. */
function delivered(error: SekishoError): SekishoError {
  if (!error.undelivered) return error;
  const { reason, details, exact, code, cause } = error;
  return new SekishoError(reason, { details, exact, cause, ...(code === undefined ? {} : { code }) });
}

/** What says of a call that it was not let in, or that nobody is there for it, and nothing of the task. */
const saysNothingOfTask: readonly ClientReason[] = [
  "unauthenticated",
  "permission_denied",
  "agent_not_found",
  "internal",
];

/** A later attempt that certainly did nothing does not make an earlier ambiguous one certain. */
function inDoubt({ method }: RunningCall, error: SekishoError): SekishoError {
  const isRefusal = method === "execute_task" && saysNothingOfTask.includes(error.reason);
  if (!error.retryable && !isRefusal) return error;
  return new SekishoError("ambiguous", { details: error.details, cause: error });
}
