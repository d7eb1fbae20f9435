/** Handles dead letters (messages that the queue gave up on). It calls only the store and the queues. */

import { isNewerRecord } from "@sekisho/runtime/engine/record-version.ts";
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import { isUnsent } from "../../task/edited.ts";
import type { TaskEvent } from "../../task/events.ts";
import { afterDeadLetterMs } from "../../task/failures.ts";
import {
  type AskMessage,
  isInteraction,
  isNewerMessage,
  isSuperseded,
  type MessageChange,
  parseQueueMessage,
  type QueueMessage,
  toWakeSeq,
} from "../../task/messages.ts";
import { salvageTask } from "../../task/recovery.ts";
import { queueGroupOf, type Task } from "../../task/task.ts";
import { maxAgeMs } from "../../task/time-limits.ts";
import { causeKindOf } from "../data-failures.ts";
import { runStep } from "../step/run.ts";
import type { StepOptions } from "../step/step.ts";
import { deferUntilLeaseEnds, retrySoon, sendCopy } from "./message-copy.ts";
import { leaveMessage } from "./newer-version.ts";
import { readQueuedIds } from "./queued-ids.ts";

type DeadLetter = {
  message: QueueMessage;
  signal: AbortSignal | undefined;
  keep: () => Promise<void>;
};

type HandleDeadLetter = (request: {
  body: string;
  signal?: AbortSignal;
  keep?: () => Promise<void>;
}) => Promise<void>;

/** Creates the handler that `Worker.deadLetter` describes. */
export function createHandleDeadLetter(options: StepOptions): HandleDeadLetter {
  const { log, telemetry } = options;
  return async ({ body, signal, keep = async () => {} }) => {
    const message = parseQueueMessage(body);
    if (message === undefined) {
      if (isNewerMessage(body) && (await leaveMessage(options, { body }))) return;
      log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
      telemetry?.metrics.add("sekisho_dead_letters_total", { message: "unknown" });
      return keep();
    }
    log.error("dead_letter", { ...readQueuedIds(body), event: message.type });
    telemetry?.metrics.add("sekisho_dead_letters_total", { message: message.type });
    await handleDeadLetter(options, { message, signal, keep }).catch(async (thrown: unknown) => {
      if (!isNewerRecord(thrown)) throw thrown;
      if (!(await leaveMessage(options, { body, thrown }))) await keep();
    });
  };
}

/**
 * Stores the message for an operator first, and then fails the task in the record. The worker does the rest at the next wake-ups (it asks
 * the host to cancel and tells the user), so this handler needs none of its permissions. It stores:
 * - an `ask` whose task could not be recorded, once. It is also retried automatically for a week;
 * - a `wake`. If its task has failed, a redrive only repeats the delivery;
 * - a `button_click`, a `form_submitted` or a `session_stopped`;
 * - a `redrive`, a `cancel`, or a `message_change` of a message with a record. The task does not change. The message is also retried
 *   automatically if there is something left to do.
 * It does not store messages whose task goes on elsewhere (the wake-up is done, or a worker holds the task) or that have no task.
 */
async function handleDeadLetter(
  options: StepOptions,
  { message, signal, keep }: DeadLetter,
): Promise<void> {
  const { queue, now = Date.now } = options;
  // A queued task also checks its thread by itself.
  if (message.type === "thread_free") return;
  if (message.type === "conversation_opened" || message.type === "home_opened") return;
  // Its trigger is good for three seconds.
  if (message.type === "shortcut_used") return;
  // The vote is in the task's record.
  if (message.type === "vote_given") return;
  // The person sees that the click had no effect, and may click again.
  if (isInteraction(message)) return keep();
  if (message.type === "redrive" || message.type === "cancel")
    return retryRequest(options, { message, keep });
  const { task, unreadable } = await readTask(options, message.requestId);
  if (task === undefined && unreadable !== undefined) return keep();
  if (task === undefined) {
    const isOfMessage = message.type === "ask" || message.type === "message_change";
    return isOfMessage ? handleUnclaimed(options, { ask: message, keep }) : undefined;
  }
  if (message.type === "message_change") return retryRequest(options, { message, keep });
  const seq = toWakeSeq({ message, task });
  if (isSuperseded({ message, task })) return;
  const nowMs = now();
  if (task.lease !== undefined && task.lease.untilMs > nowMs)
    return sendCopy(queue, deferUntilLeaseEnds({ message, task, isLate: false, nowMs }));
  await keep();
  const event: TaskEvent =
    unreadable === undefined
      ? { type: "dead_lettered", nowMs }
      : { type: "step_failed", nowMs, causeKind: unreadable };
  const result = await runStep(options, { task, event, seq, nowMs, signal });
  if (result === "unclaimed") await sendCopy(queue, retrySoon(message, task));
}

/**
 * Reads the record. If it cannot be parsed, `unreadable` is the kind of the error and `task` the readable part. This is for dead letters
 * only, because until then a worker of another version may be able to read the record.
 */
async function readTask(
  { store, log }: StepOptions,
  id: string,
): Promise<{ task: Task | undefined; unreadable?: string }> {
  try {
    return { task: await store.get({ id }) };
  } catch (thrown) {
    if (!(thrown instanceof ItemError)) throw thrown;
    const unreadable = causeKindOf(thrown);
    log.error("record_unreadable", { request_id: id, cause_kind: unreadable });
    return { task: salvageTask(thrown.json), unreadable };
  }
}

/**
 * Retries a `cancel` as long as the task has no outcome, because Slack already shows that the task is being canceled, and the change of a
 * message until it is sent. Retries them, or a `redrive`, also if its worker died in a later step of the task, because the next wake-up may be an hour away, or there may be none.
 */
async function retryRequest(
  options: StepOptions,
  { message, keep }: { message: QueueMessage; keep: () => Promise<void> },
): Promise<void> {
  await keep();
  const { task } = await readTask(options, message.requestId);
  if (task === undefined) return;
  const isCancel = message.type === "cancel" && task.outcome === undefined && task.state !== "done";
  const isOpen = isCancel || (message.type === "message_change" && isUnsent(task));
  if (!isOpen && task.lease === undefined) return;
  const group = queueGroupOf(task);
  await sendCopy(options.queue, { message, delayMs: afterDeadLetterMs, group });
}

/** A message without a record is retried for a week, so that the person gets an answer, even if only that it is too late. */
const maxUnclaimedMs = 7 * maxAgeMs;

/** Retries a message whose record could never be created. */
async function handleUnclaimed(
  { queue, now = Date.now }: StepOptions,
  { ask, keep }: { ask: AskMessage | MessageChange; keep: () => Promise<void> },
): Promise<void> {
  const { receivedAtMs, message } = ask;
  // A message that does not mention the bot may be private between people, so it is not stored.
  if (ask.buried !== true && !message.unaddressed) await keep();
  if (now() - receivedAtMs > maxUnclaimedMs) return;
  const copy = { ...ask, buried: true };
  await sendCopy(queue, { message: copy, delayMs: afterDeadLetterMs, group: message.team });
}
