/** Handles a completion push: wakes the task that it names, if that task is waiting. A push carries no outcome and is not trusted. */

import { completionSchema } from "@sekisho/contracts/completion.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import type { TaskEvent } from "../../task/events.ts";
import { queueGroupOf, type Task } from "../../task/task.ts";
import { InterruptedStep } from "../step/lease.ts";
import { runStep } from "../step/run.ts";
import type { StepOptions } from "../step/step.ts";
import { sendCopy, soonAgainMs } from "./message-copy.ts";

/** The shortest time between two polls of a task that pushes can cause. It is longer after a large answer. */
const pollGapMs = 1000;

function minGapMs({ wait }: Task): number {
  return Math.max(pollGapMs, wait?.minPollGapMs ?? 0);
}

type Push = { body: string; signal?: AbortSignal | undefined };

/** The last wake-up that was sent for a task's pushes: its number, when it is due, and the end of the lease that it met. */
type SentLink = { seq: number; dueAtMs: number; leaseUntilMs: number };

const maxSentLinks = 1000;

/**
 * The `early` count of a wake-up that a push sends. A wake-up that arrives before the record is saved is delivered again with a doubling
 * delay that begins at a tenth of a second. This one has waited a second already, so it begins at the fourth delay, which keeps the number
 * of messages low if many processes send one.
 */
const firstEarly = 4;

/** The handler rejects if the store is unavailable. */
export function createHandleCompletion(options: StepOptions): (push: Push) => Promise<void> {
  const sentLinks = new Map<string, SentLink>();
  return (push) => handleCompletion(options, sentLinks, push);
}

async function handleCompletion(
  options: StepOptions,
  sentLinks: Map<string, SentLink>,
  { body, signal }: Push,
): Promise<void> {
  const { store, log, now = Date.now } = options;
  const push = completionSchema.safeParse(parseJson(body)).data;
  if (push === undefined) return log.warn("completion_refused", { bytes: body.length });
  const task = await store.get({ id: push.request_id });
  const nowMs = now();
  const isKnown =
    task?.call?.taskId === push.task_id && isOfUse(task, nowMs) && !isPolledSoon(task, nowMs);
  if (task === undefined || !(isKnown || isSending(task, { taskId: push.task_id, nowMs }))) {
    return log.debug("completion_dropped", { ...push });
  }
  if (isHeld(task, nowMs) || isRecent(task, nowMs))
    return pollSoon(options, sentLinks, { task, nowMs });
  const event: TaskEvent = { type: "woken", nowMs, workerDied: task.lease !== undefined };
  await runStep(options, { task, event, seq: task.wakeSeq, nowMs, signal }).catch(
    async (thrown: unknown) => {
      if (thrown instanceof InterruptedStep)
        await wakeAfterLease(options, task, thrown).catch(() => {});
      throw thrown;
    },
  );
}

/** Its queue delivers a failed push again after minutes, and only twice. What the step had found should not wait for that. */
async function wakeAfterLease(
  { queue, now = Date.now }: StepOptions,
  task: Task,
  { leaseUntilMs }: InterruptedStep,
): Promise<void> {
  const message = { type: "wake", requestId: task.id, seq: task.wakeSeq } as const;
  const delayMs = Math.max(0, leaseUntilMs - now()) + soonAgainMs;
  await sendCopy(queue, { message, delayMs, group: queueGroupOf(task) });
}

/** True if a worker sends the task, or the reply to its question. A push may come before the worker has stored that the host accepted it. */
function isSending(task: Task, { taskId, nowMs }: { taskId: string; nowMs: number }): boolean {
  if (!isHeld(task, nowMs) || task.call === undefined) return false;
  const isReplying = task.state === "asking" && task.question?.answer !== undefined;
  return task.call.taskId === undefined || (task.call.taskId === taskId && isReplying);
}

/** True if the task waits, or if it goes on where a worker died. */
function isOfUse(task: Task, nowMs: number): boolean {
  if (isAbandoned(task, nowMs)) return true;
  // After a failure the planned delay stays, and a task that is being canceled needs no poll.
  return task.state === "waiting" && task.cancelReason === undefined && task.attempts === 0;
}

/** True if a worker died. If it handled a push, that push comes again, and the next wake-up may be minutes away. */
function isAbandoned(task: Task, nowMs: number): boolean {
  return task.lease !== undefined && !isHeld(task, nowMs);
}

/** True if the planned poll comes no later than one for this push could. One whose time has passed may have found no slot. */
function isPolledSoon(task: Task, nowMs: number): boolean {
  const { nextPollAtMs = Number.POSITIVE_INFINITY } = task.wait ?? {};
  const restMs = nextPollAtMs - nowMs;
  return !isHeld(task, nowMs) && isRecent(task, nowMs) && restMs > 0 && restMs <= minGapMs(task);
}

/** True if a worker acts on the task. */
function isHeld({ lease }: Task, nowMs: number): boolean {
  return lease !== undefined && lease.untilMs > nowMs;
}

/** True if the task was polled within the gap. */
function isRecent(task: Task, nowMs: number): boolean {
  const polledAtMs = task.wait?.polledAtMs;
  return polledAtMs !== undefined && nowMs - polledAtMs < minGapMs(task);
}

/**
 * Sends a wake-up for the end of the gap, because the last poll may have missed the news and the next one may be minutes away. It carries
 * the number of the next wake-up. Only one wake-up per number is processed, so many pushes cause one poll. Each process sends such a
 * wake-up once.
 */
async function pollSoon(
  { queue, log }: StepOptions,
  sentLinks: Map<string, SentLink>,
  { task, nowMs }: { task: Task; nowMs: number },
): Promise<void> {
  const seq = task.wakeSeq + (isHeld(task, nowMs) ? 1 : 0);
  const sentLink = sentLinks.get(task.id);
  const isPending =
    nowMs < ((isHeld(task, nowMs) ? sentLink?.leaseUntilMs : sentLink?.dueAtMs) ?? 0);
  if (sentLink?.seq === seq && isPending) {
    return log.debug("completion_dropped", { request_id: task.id, task_id: task.call?.taskId });
  }
  // The clock of the worker that polled may be ahead.
  const sincePollMs = isRecent(task, nowMs)
    ? Math.max(0, nowMs - (task.wait?.polledAtMs ?? nowMs))
    : 0;
  const delayMs = minGapMs(task) - sincePollMs;
  const message = { type: "wake", requestId: task.id, seq, early: firstEarly } as const;
  await sendCopy(queue, { message, delayMs, group: queueGroupOf(task) });
  // Remembered after the send, so that no push is dropped for a wake-up that was never sent.
  sentLinks.delete(task.id);
  sentLinks.set(task.id, { seq, dueAtMs: nowMs + delayMs, leaseUntilMs: task.lease?.untilMs ?? 0 });
  const [oldestId] = sentLinks.keys();
  if (oldestId !== undefined && sentLinks.size > maxSentLinks) sentLinks.delete(oldestId);
  log.debug("completion_deferred", {
    request_id: task.id,
    task_id: task.call?.taskId,
    delay_ms: delayMs,
  });
}
