/** Handles a completion push: wakes the task that it names, if the task is waiting. A push carries no outcome and is not trusted. */
import { completionSchema } from "../../../contracts/completion.ts";
import type { TaskEvent } from "../task/events.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import { runStep, type WorkerOptions } from "./run-step.ts";

/** The shortest gap between two polls of a task that pushes can cause. */
const pollGapMs = 1000;

type Push = { body: string; signal: AbortSignal | undefined };

/** The wake-up that was sent last for pushes of a task: its number, when it is due, and the end of the lease that it met. */
type SentLink = { seq: number; dueAtMs: number; leaseUntilMs: number };

const maxSentLinks = 1000;

/**
 * The `early` count of a wake-up that a push sends. A wake-up that arrives before the record is saved comes again with a doubled delay,
 * from a tenth of a second on. This one has waited a second already and counts as one that came four times, so that wake-ups of many
 * processes stay few messages.
 */
const firstEarly = 4;

/** Resolves when there is nothing more to do for the push; rejects where the store is away. */
export function createHandleCompletion(options: WorkerOptions): (push: Push) => Promise<void> {
  const sentLinks = new Map<string, SentLink>();
  return (push) => handleCompletion(options, sentLinks, push);
}

async function handleCompletion(
  options: WorkerOptions,
  sentLinks: Map<string, SentLink>,
  { body, signal }: Push,
): Promise<void> {
  const { store, log, now = Date.now } = options;
  const push = parsePush(body);
  if (push === undefined) return log.warn("completion_refused", { bytes: body.length });
  const task = await store.get({ id: push.request_id });
  const nowMs = now();
  const isMeant = task?.state === "waiting" && task.call?.taskId === push.task_id;
  // A host that failed keeps its delay until the next try, and a task that is being canceled needs no poll.
  const isEnding = task?.cancelReason !== undefined || (task?.attempts ?? 0) > 0;
  if (!isMeant || isEnding || isPolledSoon(task, nowMs)) return log.debug("completion_dropped", { ...push });
  if (isHeld(task, nowMs) || isRecent(task, nowMs)) return pollSoon(options, sentLinks, { task, nowMs });
  const event: TaskEvent = { type: "woken", nowMs, resumed: task.lease !== undefined };
  await runStep(options, { task, event, seq: task.wakeSeq, nowMs, signal });
}

/** Whether the planned poll is due no later than one for this push could be. */
function isPolledSoon(task: Task, nowMs: number): boolean {
  const { nextPollAtMs = Number.POSITIVE_INFINITY } = task.wait ?? {};
  return !isHeld(task, nowMs) && isRecent(task, nowMs) && nextPollAtMs - nowMs <= pollGapMs;
}

/** Whether a worker acts on the task. */
function isHeld({ lease }: Task, nowMs: number): boolean {
  return lease !== undefined && lease.untilMs > nowMs;
}

/** Whether the task was polled within the gap. */
function isRecent({ wait }: Task, nowMs: number): boolean {
  const polledAtMs = wait?.polledAtMs;
  return polledAtMs !== undefined && nowMs - polledAtMs < pollGapMs;
}

/**
 * The last poll, or the one under way, may have been answered before the news that the push announces, and the next one may be minutes
 * away. So a further wake-up is sent for the end of the gap. It has the number of the next one: of wake-ups with the same number only
 * one is processed, so there is one poll, however many pushes arrive. One process sends such a wake-up once.
 */
async function pollSoon(
  { queue, log }: WorkerOptions,
  sentLinks: Map<string, SentLink>,
  { task, nowMs }: { task: Task; nowMs: number },
): Promise<void> {
  const seq = task.wakeSeq + (isHeld(task, nowMs) ? 1 : 0);
  const sent = sentLinks.get(task.id);
  const isToCome = nowMs < ((isHeld(task, nowMs) ? sent?.leaseUntilMs : sent?.dueAtMs) ?? 0);
  if (sent?.seq === seq && isToCome) {
    return log.debug("completion_dropped", { request_id: task.id, task_id: task.call?.taskId });
  }
  // The clock of the worker that polled may be ahead.
  const sincePollMs = isRecent(task, nowMs) ? Math.max(0, nowMs - (task.wait?.polledAtMs ?? nowMs)) : 0;
  const delayMs = pollGapMs - sincePollMs;
  await queue.send({
    body: JSON.stringify({ type: "wake", requestId: task.id, seq, early: firstEarly }),
    delayMs,
    group: queueGroupOf(task),
  });
  // After the send, so that no push is dropped for a wake-up that was never sent.
  sentLinks.delete(task.id);
  sentLinks.set(task.id, { seq, dueAtMs: nowMs + delayMs, leaseUntilMs: task.lease?.untilMs ?? 0 });
  const [oldest] = sentLinks.keys();
  if (oldest !== undefined && sentLinks.size > maxSentLinks) sentLinks.delete(oldest);
  log.debug("completion_deferred", { request_id: task.id, task_id: task.call?.taskId, delay_ms: delayMs });
}

function parsePush(body: string) {
  try {
    return completionSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
