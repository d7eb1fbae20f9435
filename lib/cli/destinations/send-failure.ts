/** What is told of a task that was sent by hand and brought no result: why, what became of it, and what to do. */
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
  /** The destination's, as are the address and the authorizer's type. */
  name: string;
  address: string;
  authorizer: string;
  /** It is the Execution zone of this configuration, on this machine. */
  isOwn: boolean;
  requestId: string;
  /** Where the task was accepted, so that only asking for its result failed. */
  taskId: string | undefined;
};

/** `isUnreachable`: there was no way there, so that nothing was sent. */
export function sendFailure(failed: FailedTask): { words: string; isUnreachable: boolean } {
  const { error, name, isOwn, requestId, taskId } = failed;
  const { reason, undelivered } = error;
  const { why, isUnreachable } = whyOf(failed);
  const told = (words: string) => ({ words: `Destination "${name}": ${words}`, isUnreachable: false });
  const ask = `npx sekisho destinations check ${name} says whether it answers now.`;
  if (taskId !== undefined && saysNothingOfTask.includes(reason)) {
    return told(
      `${why} The task was accepted there and may go on, but its result is asked for no longer. Look for ${taskId} in its log; ${ask}`,
    );
  }
  // An answer that is too large to be read says nothing of the task either.
  const isUnread = reason === "payload_too_large" && error.code === undefined;
  if (reason === "ambiguous" || (reason === "unavailable" && !undelivered) || isUnread) {
    return told(
      `${why} Nobody knows whether the task arrived: it may be running, and sent again it may run twice. Look for ${requestId} in its log; ${ask}`,
    );
  }
  // What is left is certain.
  if (isUnreachable) {
    const words = `Destination "${name}" cannot be reached. ${why}${isOwn ? ` ${startOwnExecution}` : ""}`;
    return { words, isUnreachable };
  }
  if (undelivered) return told(`${why} The task has not begun.`);
  // Most often the address is wrong; but what breaks the contract may have an agent behind it.
  const doubt = reason === "invalid_response" ? " If the address is right, the task may have run there." : "";
  return { words: `The task failed (${reason}): ${why}${doubt}`, isUnreachable };
}

/** What is said of a call, and not of the task that it asks for. */
const saysNothingOfTask: readonly ClientReason[] = [
  "ambiguous",
  "unavailable",
  "unauthenticated",
  "permission_denied",
  "rate_limited",
  "invalid_response",
  "payload_too_large",
];

function whyOf({ error, address, authorizer }: FailedTask): { why: string; isUnreachable: boolean } {
  const { reason, message } = error;
  if (reason === "ambiguous" || reason === "unavailable" || credentialText({ error, authorizer }) !== undefined) {
    const { health, words } = createFailedCheck({ thrown: error, address, authorizer, timedOutMs: undefined });
    return { why: words, isUnreachable: health === "unreachable" };
  }
  return { why: cardFailureText(error) ?? reasonText({ reason, authorizer }) ?? message, isUnreachable: false };
}
