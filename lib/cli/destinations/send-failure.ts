/** Explains why `sekisho send` got no result, whether the task may be running, and what to do. */

import { isUndelivered, isUnknown } from "@sekisho/contracts/certainty.ts";
import type { ClientReason, SekishoError } from "@sekisho/contracts/errors.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { sanitizeLine, truncate } from "@sekisho/runtime/untrusted-input.ts";
import { reasonText } from "@sekisho/verification/checks/check-result.ts";
import {
  createFailedCheck,
  credentialText,
  problemText,
  statusNote,
} from "@sekisho/verification/checks/failed-check.ts";
import { PeerProblem } from "@sekisho/verification/transport/peer-problem.ts";
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
export function sendFailure(failedTask: FailedTask): { text: string; isUnreachable: boolean } {
  const { error, name, isOwn, requestId, taskId } = failedTask;
  const { reason } = error;
  const { why, isUnreachable } = explainError(failedTask);
  const toExplanation = (text: string) => ({
    text: `Destination "${name}": ${text}`,
    isUnreachable: false,
  });
  const ask = `To test the destination: ${sekisho} doctor --destination ${name}`;
  if (taskId !== undefined && callReasons.includes(reason)) {
    return toExplanation(
      `${why} The destination had accepted the task, which may still run, but its result is no longer polled. Look for ${taskId} in the destination's log. ${ask}`,
    );
  }
  // An answer that is too large to be read says nothing about the task.
  const isUnread = reason === "payload_too_large" && error.code === undefined;
  if (isUnknown(error) || (reason === "unavailable" && !isUndelivered(error)) || isUnread) {
    return toExplanation(
      `${why} The task may or may not have arrived, and sending it again may run it twice. Look for ${requestId} in the destination's log. ${ask}`,
    );
  }
  // From here on the outcome of the task is certain.
  if (isUnreachable) {
    const text = `Destination "${name}" cannot be reached. ${why}${isOwn ? ` ${startOwnExecution}` : ""}`;
    return { text, isUnreachable };
  }
  if (isUndelivered(error)) return toExplanation(`${why} The task has not begun.`);
  const doubt = reason === "invalid_response" ? ` ${doubtText(error)}` : "";
  const log =
    reason === "execution_failed" || reason === "internal"
      ? " Read the log of the Execution zone."
      : "";
  return { text: `The task failed (${reason}): ${why}${doubt}${log}`, isUnreachable };
}

/** Says whether the task has run, of an endpoint that breaks the contract. Most often the address is wrong. */
function doubtText({ cause, certainty }: SekishoError): string {
  if (cause instanceof PeerProblem && cause.isRefusal) return "The task has not begun.";
  return certainty === "ended"
    ? "The task has run."
    : "If the address is right, the task may have run there.";
}

/** These reasons say that a call failed, and nothing about the task that it polls. */
const callReasons: readonly ClientReason[] = [
  "ambiguous",
  "unavailable",
  "unauthenticated",
  "permission_denied",
  "rate_limited",
  "invalid_response",
  "payload_too_large",
];

function explainError({ error, address, authorizer }: FailedTask): {
  why: string;
  isUnreachable: boolean;
} {
  const { reason, message } = error;
  if (
    reason === "ambiguous" ||
    reason === "unavailable" ||
    credentialText({ error, authorizer }) !== undefined
  ) {
    const { health, summary } = createFailedCheck({
      thrown: error,
      address,
      authorizer,
      timedOutMs: undefined,
    });
    return { why: summary, isUnreachable: health === "unreachable" };
  }
  const why =
    problemText(error) ?? `${reasonText({ reason, authorizer }) ?? message}${statusNote(error)}`;
  return {
    why: [why, issuesText(error), explanationText(error)].filter(Boolean).join(" "),
    isUnreachable: false,
  };
}

const maxIssues = 10;
const maxTextLength = 300;

/** Names the fields that the peer complains of. Its texts are cut, and have nothing that drives a terminal. */
function issuesText({ details: { issues = [] } }: SekishoError): string {
  if (issues.length === 0) return "";
  const issueTexts = issues.slice(0, maxIssues).map(({ path, message }) => {
    const text = toLine(message);
    return `${toLine(path) || "the params"}${text === "" ? "" : ` (${text})`}`;
  });
  const more = issues.length > maxIssues ? ` and ${issues.length - maxIssues} more` : "";
  return `It complains of ${issueTexts.join(", ")}${more}.`;
}

function explanationText({ explanation }: SekishoError): string {
  return explanation === undefined ? "" : `It says: ${toLine(explanation)}`;
}

function toLine(text: string): string {
  const line = sanitizeLine(text.replace(/\s+/g, " ")).trim();
  return line.length > maxTextLength ? `${truncate(line, maxTextLength)}…` : line;
}
