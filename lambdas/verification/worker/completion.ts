/** The completion push: wakes the task that it names, if that waits. It carries no outcome, and what it says is not believed. */
import { completionSchema } from "../../../contracts/completion.ts";
import type { TaskEvent } from "../task/events.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import { runStep, type WorkerOptions } from "./run-step.ts";

/** However many pushes come, a task is not polled more often than that for them. */
const pollGapMs = 1000;

type Push = { body: string; signal: AbortSignal | undefined };

/** The link that was sent last for pushes of a task: its number, when it is due, and the end of the lease that it met. */
type SentLink = { seq: number; dueAtMs: number; leaseUntilMs: number };

const maxSentLinks = 1000;

/**
 * A link that is ahead of the record comes again after twice the time each time, from a tenth of a second on. This one has waited
 * for a second, as a link that came so often: it goes on from there, so that many processes with one each stay few messages.
 */
const earlyAfterGap = 4;

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
  const push = parse(body);
  if (push === undefined) return log.warn("completion_refused", { bytes: body.length });
  const task = await store.get({ id: push.request_id });
  const nowMs = now();
  const isMeant = task?.state === "waiting" && task.call?.taskId === push.task_id;
  // A host that could not be asked has its time until the next try, and what is ending is told by its end.
  const isEnding = task?.cancelReason !== undefined || (task?.attempts ?? 0) > 0;
  if (!isMeant || isEnding || isPolledSoon(task, nowMs)) return log.debug("completion_dropped", { ...push });
  if (isHeld(task, nowMs) || isRecent(task, nowMs)) return pollSoon(options, sentLinks, { task, nowMs });
  const event: TaskEvent = { type: "woken", nowMs, resumed: task.lease !== undefined };
  await runStep(options, { task, event, seq: task.wakeSeq, nowMs, signal });
}

/** The next poll is due as soon as one that is made for the push could be. */
function isPolledSoon(task: Task, nowMs: number): boolean {
  const { nextPollAtMs = Number.POSITIVE_INFINITY } = task.wait ?? {};
  return !isHeld(task, nowMs) && isRecent(task, nowMs) && nextPollAtMs - nowMs <= pollGapMs;
}

/** A worker acts on it. */
function isHeld({ lease }: Task, nowMs: number): boolean {
  return lease !== undefined && lease.untilMs > nowMs;
}

function isRecent({ wait }: Task, nowMs: number): boolean {
  const polledAtMs = wait?.polledAtMs;
  return polledAtMs !== undefined && nowMs - polledAtMs < pollGapMs;
}

/**
 * The poll that was made last, or is under way, may have been answered before what the push tells of, and the next one may be
 * minutes away. One more link with the number of the next one comes when the gap is over: of links with the same number one
 * is worked at, so that there is one poll, however many pushes come. Of the pushes that one process gets, only the first
 * makes a link: it is still to come, and comes again until the lease that it met is over.
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
    body: JSON.stringify({ type: "wake", requestId: task.id, seq, early: earlyAfterGap }),
    delayMs,
    group: queueGroupOf(task),
  });
  // Only now: a push is not to be dropped for a link that was never sent.
  sentLinks.delete(task.id);
  sentLinks.set(task.id, { seq, dueAtMs: nowMs + delayMs, leaseUntilMs: task.lease?.untilMs ?? 0 });
  const [oldest] = sentLinks.keys();
  if (oldest !== undefined && sentLinks.size > maxSentLinks) sentLinks.delete(oldest);
  log.debug("completion_deferred", { request_id: task.id, task_id: task.call?.taskId, delay_ms: delayMs });
}

function parse(body: string) {
  try {
    return completionSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
