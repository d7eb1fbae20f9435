/** Trying a task again as a new one: by an operator, or by the person who asked, with the button below a failure. */
import type { ClientReason } from "@sekisho/contracts/errors.ts";
import type { AskMessage } from "./messages.ts";
import { retryIdOf } from "./routing.ts";
import { hasFailedDelivery, isCanceled, type Task } from "./task.ts";

/**
 * `command`: a slash command leaves no message to read again. `instruction`: what a person wrote into the shortcut's modal is in no
 * message, and is erased. `cancel_word`: the message was a request to cancel. `open`: the task has not ended.
 */
export type RetryObstacle = "open" | "command" | "instruction" | "cancel_word";

export function findRetryObstacle({
  state,
  message,
  outcome,
  call,
}: Task): RetryObstacle | undefined {
  if (state !== "done") return "open";
  if (message.command) return "command";
  if (message.about?.instruction || message.about?.hadInstruction) return "instruction";
  const isCancelWord =
    outcome?.type === "canceling" || (message.unaddressed && call?.deadlineAtMs === undefined);
  return isCancelWord ? "cancel_word" : undefined;
}

/** The worker reads the text and the files from Slack again, so none is sent. `retryOf` is the task that was tried first. */
export function createRetry(
  request: Pick<AskMessage, "requestId" | "receivedAtMs" | "trace"> & { task: Task },
): AskMessage & { retryOf: string } {
  const { task, ...ask } = request;
  return {
    type: "ask",
    ...ask,
    message: { ...task.message, text: "" },
    retryOf: task.retryOf ?? task.id,
  };
}

/** Each task has one retry by its button, however often that is clicked. Those of operators count from 1. */
export function buttonRetryIdOf({ id }: Pick<Task, "id">): string {
  return retryIdOf({ originalId: id, count: 0 });
}

/** `at_will`: the agent has done nothing, or has failed. `with_care`: it may have done its work, so a person should look first. */
export type RetryAdvice = "at_will" | "with_care";

const advice: Partial<Record<ClientReason, RetryAdvice>> = {
  execution_failed: "at_will",
  internal: "at_will",
  rate_limited: "at_will",
  unavailable: "at_will",
  ambiguous: "with_care",
  invalid_state: "with_care",
  task_not_found: "with_care",
  timeout: "with_care",
};

/** Undefined for a task that has no button to try it again: another try would end alike, or there is no message to read again. */
export function retryAdviceOf(task: Task): RetryAdvice | undefined {
  const { outcome, message } = task;
  if (outcome?.type !== "failed" || isCanceled(task) || hasFailedDelivery(task)) return undefined;
  // The button is shown before the task is done.
  const hasMessage =
    message.botIds === undefined && findRetryObstacle({ ...task, state: "done" }) === undefined;
  if (!hasMessage) return undefined;
  return outcome.lost ? "with_care" : advice[outcome.reason];
}
