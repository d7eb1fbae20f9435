/**
 * The state `waiting`: the agent is at work, and is polled until it has an outcome or a question. The thread shows how far it is, at
 * most once a second, and never just before the answer.
 */
import { startAsking } from "./asking.ts";
import type { AcceptedResult, EventOf } from "./events.ts";
import { destinationOf, hasMoved, inKnownSession, type Policy, withCall } from "./routing.ts";
import {
  ambiguousOutcome,
  countFailure,
  failedOutcome,
  graceMs,
  isEndOfTask,
  isPastDeadline,
  maxAttempts,
  requestCancel,
  resetFailures,
  retryUnread,
  schedulePoll,
  setAnswer,
  setOutcome,
  type Transition,
  taskRetryDelayMs,
  untilDeadlineMs,
  waitOf,
  wake,
} from "./step.ts";
import type { Task } from "./task.ts";

/** Slack's own advice for edits of one message (https://docs.slack.dev/apis/web-api/rate-limits). */
export const leastGapMs = 1000;

/** The thread shows less. */
const maxTextLength = 1000;

/** The longest gap before the next poll of a task whose last poll brought news. */
const newsGapMs = 30_000;

export function onWokenWaiting(task: Task, { nowMs, resumed }: EventOf<"woken">, policy: Policy): Transition {
  // However it goes on: a worker that died may have begun a stream.
  const known = resumed ? markStreamInDoubt(task, policy) : task;
  if (isPastDeadline(task, nowMs - graceMs)) return requestCancel(known, "deadline");
  const wait = { ...waitOf(task), polls: waitOf(task).polls + 1, polledAtMs: nowMs };
  return { task: { ...known, wait }, effects: [{ type: "poll", by: "task_id" }] };
}

export function onAnsweredWaiting(entered: Task, { nowMs, result }: EventOf<"answered">, policy: Policy): Transition {
  const task = inKnownSession(entered);
  if (result.status === "success") return setAnswer(task, result);
  if (result.status === "input_required") return startAsking(task, { result, nowMs, policy });
  const accepted = withCall(resetFailures(task), { taskId: result.task_id });
  return goOnWaiting(accepted, { result, nowMs, policy });
}

/** The poll found it at work: what is new is shown, if it is time, and then it is polled again. */
function goOnWaiting(
  task: Task,
  { result, nowMs, policy }: { result: AcceptedResult; nowMs: number; policy: Policy },
): Transition {
  const { poll_after_ms: pollAfterMs, progress } = result;
  const polled: Task = { ...task, wait: { ...waitOf(task), pollAfterMs } };
  if (progress === undefined || !isNews(task, progress)) {
    return schedulePoll(polled, { nowMs, policy, ceilingMs: writingGapMs(polled, nowMs) });
  }
  const isTime = nowMs - (task.progress?.shownAtMs ?? Number.NEGATIVE_INFINITY) >= leastGapMs;
  if (!isTime) return pollAfterNews(polled, { nowMs, policy });
  const { percent, partial_text: partialText } = progress;
  const text = progress.text?.slice(0, maxTextLength);
  const next = { text, percent, partialText, shownAtMs: nowMs, inDoubt: task.progress?.inDoubt };
  return { task: { ...polled, progress: next }, effects: [{ type: "show_progress" }] };
}

function isNews({ progress }: Task, news: NonNullable<AcceptedResult["progress"]>): boolean {
  return (
    news.text?.slice(0, maxTextLength) !== progress?.text ||
    news.percent !== progress?.percent ||
    news.partial_text !== progress?.partialText
  );
}

export function onProgressShown(task: Task, event: EventOf<"progress_shown">, policy: Policy): Transition {
  return pollAfterNews(withShownProgress(task, event), { nowMs: event.nowMs, policy });
}

export function withShownProgress(task: Task, { shown, nowMs }: EventOf<"progress_shown">): Task {
  const { stream = task.stream, inDoubt = false, delayMs = 0 } = shown;
  return {
    ...task,
    ...(stream === undefined ? {} : { stream }),
    progress: { ...task.progress, shownAtMs: nowMs + delayMs, ...(inDoubt ? { inDoubt: true as const } : {}) },
  };
}

/** Somebody may watch how far it is. */
function pollAfterNews(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Transition {
  const ceilingMs = Math.min(newsGapMs, writingGapMs(task, nowMs) ?? newsGapMs);
  return schedulePoll(task, { nowMs, policy, ceilingMs });
}

/**
 * While an answer is being written, the next poll comes after at most as long as nothing of it has come: at once after a new
 * part, and less and less often where the agent has paused. Undefined where nothing is being written.
 */
function writingGapMs({ progress }: Task, nowMs: number): number | undefined {
  return progress?.partialText === undefined ? undefined : Math.max(0, nowMs - progress.shownAtMs);
}

/** A worker that died may have begun a stream, or a further message of it, that nobody knows of. */
export function markStreamInDoubt(task: Task, policy: Policy): Task {
  // Beside others in its thread nobody could tell whose it is: then what was begun unknown to us stays.
  if (destinationOf(task, policy).concurrency === "parallel") return task;
  return { ...task, stream: { messages: [], length: 0, ...task.stream, inDoubt: true } };
}

/** Reading is safe to repeat: only what the task itself ended with, or its absence, ends the wait before the deadline. */
export function onPollFailed(task: Task, { nowMs, error }: EventOf<"call_failed">, policy: Policy): Transition {
  if (error.unread) return retryUnread(task, { error, nowMs });
  // Another peer that does not know the task says nothing of the one that took it.
  const isForeign = error.reason === "task_not_found" && hasMoved(task, policy);
  if (isForeign) return setOutcome(task, ambiguousOutcome);
  if (isEndOfTask(error) || error.reason === "task_not_found") return setOutcome(task, failedOutcome(error));
  const again = countFailure(task, error);
  // A peer that cannot be reached may come back; one that answers nonsense, or lets us in no more, hardly does.
  if ((again.nonTransientFailures ?? 0) >= maxAttempts) {
    return { task: setOutcome(task, ambiguousOutcome).task, effects: [{ type: "cancel" }] };
  }
  const mostMs = untilDeadlineMs(task, nowMs - graceMs);
  const delayMs = Math.min(taskRetryDelayMs(again.attempts, error.retryAfterMs), mostMs);
  // All tasks of a host that is away would ask it again at the same moment.
  return { task: again, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 2) })] };
}
