/** Explains why a task that was sent by hand brought no result, whether it may be running, and what to do. */
import type { ClientReason, SekishoError } from "../../../contracts/errors.ts";
import { reasonText } from "../../../lambdas/verification/checks/check-result.ts";
import {
  cardFailureText,
  createFailedCheck,
  credentialText,
} from "../../../lambdas/verification/checks/failed-check.ts";
import { startOwnExecution } from "./describe.ts";

export type FailedTask = {
  error: SekishoError;
  /** The destination's name, address and authorizer's type. */
  name: string;
  address: string;
  authorizer: string;
  /** True if it is the Execution zone of this machine. */
  isOwn: boolean;
  requestId: string;
  /** Set where the task was accepted, so that only a poll failed. */
  taskId: string | undefined;
};

/** `isUnreachable`: there was no connection, so nothing was sent. */
export function sendFailure(failed: FailedTask): { text: string; isUnreachable: boolean } {
  const { error, name, isOwn, requestId, taskId } = failed;
  const { reason, undelivered } = error;
  const { why, isUnreachable } = explainError(failed);
  const explained = (text: string) => ({ text: `Destination "${name}": ${text}`, isUnreachable: false });
  const ask = `npx sekisho destinations check ${name} says whether it answers now.`;
  if (taskId !== undefined && callReasons.includes(reason)) {
    return explained(
      `${why} The task was accepted there and may go on, but its result is asked for no longer. Look for ${taskId} in its log; ${ask}`,
    );
  }
  // An answer that is too large to be read says nothing about the task.
  const isUnread = reason === "payload_too_large" && error.code === undefined;
  if (reason === "ambiguous" || (reason === "unavailable" && !undelivered) || isUnread) {
    return explained(
      `${why} Nobody knows whether the task arrived: it may be running, and sent again it may run twice. Look for ${requestId} in its log; ${ask}`,
    );
  }
  // From here on it is certain what became of the task.
  if (isUnreachable) {
    const text = `Destination "${name}" cannot be reached. ${why}${isOwn ? ` ${startOwnExecution}` : ""}`;
    return { text, isUnreachable };
  }
  if (undelivered) return explained(`${why} The task has not begun.`);
  // Most often the address is wrong. But an endpoint that breaks the contract may have run an agent.
  const doubt = reason === "invalid_response" ? " If the address is right, the task may have run there." : "";
  return { text: `The task failed (${reason}): ${why}${doubt}`, isUnreachable };
}

/** These say something about a call, and nothing about the task that it asks for. */
const callReasons: readonly ClientReason[] = [
  "ambiguous",
  "unavailable",
  "unauthenticated",
  "permission_denied",
  "rate_limited",
  "invalid_response",
  "payload_too_large",
];

function explainError({ error, address, authorizer }: FailedTask): { why: string; isUnreachable: boolean } {
  const { reason, message } = error;
  if (reason === "ambiguous" || reason === "unavailable" || credentialText({ error, authorizer }) !== undefined) {
    const { health, summary } = createFailedCheck({ thrown: error, address, authorizer, timedOutMs: undefined });
    return { why: summary, isUnreachable: health === "unreachable" };
  }
  return { why: cardFailureText(error) ?? reasonText({ reason, authorizer }) ?? message, isUnreachable: false };
}
