/** Handles a message that the queue gave up on. It calls nobody but the store and the queues. */
import { ItemError } from "../../shared/engine/records.ts";
import { readQueuedIds } from "../../shared/queued-ids.ts";
import type { TaskEvent } from "../task/events.ts";
import { type AskMessage, parseQueueMessage, type QueueMessage, toWakeSeq } from "../task/messages.ts";
import { salvageTask } from "../task/recovery.ts";
import { afterDeadLetterMs, maxAgeMs } from "../task/step.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import { type ActlessOptions, causeKindOf, deferUntilLeaseEnds, runStep, soonAgainMs } from "./run-step.ts";

type DeadLetter = { message: QueueMessage; signal: AbortSignal | undefined; keep: () => Promise<void> };

export type HandleDeadLetter = (request: {
  body: string;
  signal?: AbortSignal;
  keep?: () => Promise<void>;
}) => Promise<void>;

/** For a message that the queue gave up on; see `Worker.deadLetter`. */
export function createHandleDeadLetter(options: ActlessOptions): HandleDeadLetter {
  const { log, telemetry } = options;
  return async ({ body, signal, keep = async () => {} }) => {
    const message = parseQueueMessage(body);
    if (message === undefined) {
      log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
      telemetry?.metrics.add("sekisho_dead_letters_total", { message: "unknown" });
      return keep();
    }
    log.error("dead_letter", { ...readQueuedIds(body), event: message.type });
    telemetry?.metrics.add("sekisho_dead_letters_total", { message: message.type });
    return handleDeadLetter(options, { message, signal, keep });
  };
}

/**
 * The record says `failed` before anything else happens. The next wake-up asks the host to cancel, and the one after it tells the
 * user in the thread: calls are the worker's, so that this handler needs none of its permissions. Before all that the message is kept for an operator, who may redrive it: afterwards the record would say
 * that there is nothing to do, and a message that could not be kept at once would be gone. Kept is:
 * - an `ask`, once, whose task could not even be recorded. It goes on by itself for a week; redriven, it is sent as it is;
 * - a `wake`. Where its task failed with it, only the delivery is repeated when it is redriven;
 * - a `press`;
 * - a `redrive` or a `cancel`, with which the task stays as it is. Redriven, it is tried again; a `cancel` also by itself.
 * Not kept is what goes on elsewhere (of a link that is finished, or of a task that a worker holds) or is about nothing.
 */
async function handleDeadLetter(options: ActlessOptions, { message, signal, keep }: DeadLetter): Promise<void> {
  const { queue, now = Date.now } = options;
  // The task finds out by itself that its thread is free.
  if (message.type === "thread_free") return;
  // Whoever pressed the button sees that nothing came of it, and may press it again.
  if (message.type === "redrive" || message.type === "press") return keep();
  if (message.type === "greet") return;
  if (message.type === "cancel") return handleLostWish(options, { message, keep });
  const { task, unreadable } = await readTask(options, message.requestId);
  if (task === undefined && unreadable !== undefined) return keep();
  if (task === undefined) return message.type === "ask" ? handleUnclaimed(options, { ask: message, keep }) : undefined;
  const seq = toWakeSeq({ message, task });
  if (seq < task.wakeSeq) return;
  const nowMs = now();
  const group = queueGroupOf(task);
  if (task.lease !== undefined && task.lease.untilMs > nowMs) {
    return queue.send({ ...deferUntilLeaseEnds({ message, task, lease: task.lease, nowMs }), group });
  }
  await keep();
  const event: TaskEvent =
    unreadable === undefined ? { type: "dead_lettered", nowMs } : { type: "step_failed", nowMs, causeKind: unreadable };
  if (await runStep(options, { task, event, seq, nowMs, signal })) return;
  await queue.send({ body: JSON.stringify(message), delayMs: soonAgainMs, group });
}

/**
 * `unreadable` is what was wrong with a record that cannot be read; `task` is then what is left of it. Only here: a worker of
 * another version may be able to read it, and its message comes again until it is a dead letter.
 */
async function readTask(
  { store, log }: ActlessOptions,
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

/** Somebody was told that the task is being canceled: that stays a wish as long as the task is not over. */
async function handleLostWish(
  options: ActlessOptions,
  { message, keep }: { message: QueueMessage; keep: () => Promise<void> },
): Promise<void> {
  await keep();
  const { task } = await readTask(options, message.requestId);
  if (task === undefined || task.outcome !== undefined || task.state === "done") return;
  await options.queue.send({
    body: JSON.stringify(message),
    delayMs: afterDeadLetterMs,
    group: queueGroupOf(task),
  });
}

/** For so long a message without a record is tried: a week, since the person is owed an answer, if only that it came too late. */
const maxUnclaimedMs = 7 * maxAgeMs;

/** The store was out of reach all the time. The message is all there is, so it is kept going. */
async function handleUnclaimed(
  { queue, now = Date.now }: ActlessOptions,
  { ask, keep }: { ask: AskMessage; keep: () => Promise<void> },
): Promise<void> {
  const { receivedAtMs, message } = ask;
  // What people say to each other is nobody's to keep.
  if (ask.buried !== true && !message.unaddressed) await keep();
  if (now() - receivedAtMs > maxUnclaimedMs) return;
  const body = JSON.stringify({ ...ask, buried: true });
  await queue.send({ body, delayMs: afterDeadLetterMs, group: message.team });
}
