/**
 * The decisions after a failed call, by its certainty: whether it may be repeated, whether the task may run, and whether it has ended.
 * Each is made here only. This file needs no zod.
 */
import { type Certainty, type ClientReason, isEnd, isRetryable } from "./errors.ts";

/** A failed call. A SekishoError is one. */
export type Failure = { reason: ClientReason; certainty: Certainty };

/**
 * True if the call certainly did nothing, so that it may be repeated with the same id, even to a peer that does not deduplicate.
 *
 * @example
 * ```ts
 * import { canRepeat, SekishoError } from "@sekisho/contracts";
 *
 * console.log(canRepeat(new SekishoError("rate_limited"))); // true
 * console.log(canRepeat(new SekishoError("rate_limited", { certainty: "guessed" }))); // false
 * ```
 */
export function canRepeat({ reason, certainty }: Failure): boolean {
  return certainty !== "guessed" && certainty !== "ended" && isRetryable(reason);
}

/** True if nobody knows whether the request arrived. */
export function isUnknown({ certainty }: Failure): boolean {
  return certainty === "unknown";
}

/** True if another try may succeed: the call certainly did nothing, or nobody knows. Only a peer that deduplicates may get the latter again. */
export function isTransient(failure: Failure): boolean {
  return isUnknown(failure) || canRepeat(failure);
}

/** True if the request certainly left nothing at the destination, so that another destination may be tried. */
export function isUndelivered({ certainty }: Failure): boolean {
  return certainty === "undelivered";
}

/** True if the reason is only one of several that the peer may mean. */
export function isGuessed({ certainty }: Failure): boolean {
  return certainty === "guessed";
}

/** True if the response was too large to read. The next one may be smaller. */
export function isUnread({ certainty }: Failure): boolean {
  return certainty === "unread";
}

/** True if the response breaks the contract or could not be read, so that it says nothing about the task. */
export function isUninformative(failure: Failure): boolean {
  return isUnread(failure) || failure.reason === "invalid_response";
}

/** True if the error ends the task itself, and not only one call about it. */
export function isEndOfTask(failure: Failure): boolean {
  const { reason, certainty } = failure;
  return certainty === "ended" || (!isUnread(failure) && isEnd(reason));
}

/** True if the agent may be at work although the call failed. */
export function mayHaveRun(failure: Failure): boolean {
  const hasAnswer = isUndelivered(failure) || isEndOfTask(failure);
  return isUnknown(failure) || (isUninformative(failure) && !hasAnswer);
}
