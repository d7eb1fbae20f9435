/**
 * The state `waiting`: the agent is at work, and Sekisho polls until there is an outcome or a question. The thread shows the progress at
 * most once a second.
 */
import { isEndOfTask, isUnread } from "@sekisho/contracts/certainty.ts";
import { startAsking } from "./asking.ts";
import type { AcceptedResult, EventOf } from "./events.ts";
import { countFailure, maxAttempts, retryUnread, taskRetryDelayMs } from "./failures.ts";
import { noteGaps, onBusy, schedulePoll, waitOf } from "./polls.ts";
import { confirmSession, destinationOf, hasMoved, type Policy, withCall } from "./routing.ts";
import type { Task } from "./task.ts";
import { graceMs, isPastDeadline, timeToDeadlineMs } from "./time-limits.ts";
import {
  ambiguousOutcome,
  failedOutcome,
  requestCancel,
  resetFailures,
  setAnswer,
  setOutcome,
  type Transition,
  wake,
} from "./transition.ts";

/** The shortest gap between two edits of one message, as Slack advises (https://docs.slack.dev/apis/web-api/rate-limits). */
export const minGapMs = 1000;

/** A longer progress text is cut before it is stored. */
const maxTextLength = 1000;

/** The longest gap before the next poll of a task whose last poll brought news. */
const newsGapMs = 30_000;

export function onWokenWaiting(
  task: Task,
  { nowMs, workerDied, polls: carried = 0 }: EventOf<"woken">,
  policy: Policy,
): Transition {
  // A worker that died may have begun a stream.
  const markedTask = workerDied ? markStreamInDoubt(task, policy) : task;
  if (isPastDeadline(task, nowMs - graceMs)) return requestCancel(markedTask, "deadline");
  const wait = {
    ...waitOf(task),
    polls: Math.max(waitOf(task).polls, carried) + 1,
    polledAtMs: nowMs,
  };
  return { task: { ...markedTask, wait }, effects: [{ type: "poll", by: "task_id" }] };
}

export function onAnsweredWaiting(
  enteredTask: Task,
  { nowMs, result }: EventOf<"answered">,
  policy: Policy,
): Transition {
  const task = confirmSession(enteredTask);
  if (result.status === "success") return setAnswer(task, result);
  if (result.status === "input_required") return startAsking(task, { result, nowMs, policy });
  const acceptedTask = withCall(resetFailures(task), { taskId: result.task_id });
  const step = goOnWaiting(acceptedTask, { result, nowMs, policy });
  // The time of a poll with a large answer is stored, because a push must not bring the next one forward.
  const isLarge = waitOf(step.task).minPollGapMs !== undefined;
  const isNothingNew =
    !isLarge &&
    isSameCall(enteredTask, acceptedTask) &&
    step.task.progress === enteredTask.progress;
  return isNothingNew ? withCarriedPolls(step) : step;
}

/** True if the poll says of the call what the record says. */
function isSameCall(previousTask: Task, nextTask: Task): boolean {
  const hasFailed = previousTask.attempts > 0 || (previousTask.nonTransientFailures ?? 0) > 0;
  return (
    !hasFailed &&
    previousTask.call?.taskId === nextTask.call?.taskId &&
    previousTask.call?.isSessionNew === undefined
  );
}

const storedEveryPolls = 10;
const storedGapMs = 15_000;

/**
 * True if the record is stored although the poll brought nothing. A wake-up that came twice polls twice as often until then, so that is done
 * after ten polls, and before a longer gap, which a host may have asked for.
 */
export function isPollStored({ polls, gapMs }: { polls: number; gapMs: number }): boolean {
  return polls % storedEveryPolls === 0 || gapMs > storedGapMs;
}

/** Lets the wake-up carry the number of polls, because the record need not change. */
function withCarriedPolls({ task, effects }: Transition): Transition {
  const { polls } = waitOf(task);
  return {
    task,
    effects: effects.map((effect) => {
      if (effect.type !== "wake" || isPollStored({ polls, gapMs: effect.delayMs })) return effect;
      return { ...effect, polls };
    }),
  };
}

/** No slot was free for the poll. */
export function onBusyWaiting(task: Task, event: EventOf<"busy">): Transition {
  return withCarriedPolls(onBusy(task, event));
}

/** Shows new progress if the last edit is long enough ago, and schedules the next poll. */
function goOnWaiting(
  task: Task,
  { result, nowMs, policy }: { result: AcceptedResult; nowMs: number; policy: Policy },
): Transition {
  const { progress } = result;
  const polledTask: Task = { ...task, wait: noteGaps(task, result) };
  if (progress === undefined || !isNews(task, progress)) {
    return schedulePoll(polledTask, {
      nowMs,
      policy,
      ceilingMs: silentGapMs(polledTask, { nowMs, policy }),
    });
  }
  if (nowMs < nextEditAtMs(task)) return pollAfterNews(markUnshown(polledTask), { nowMs, policy });
  const { percent, steps, partial_text: partialText } = progress;
  const text = progress.text?.slice(0, maxTextLength);
  const next = {
    text,
    percent,
    steps,
    partialText,
    shownAtMs: nowMs,
    inDoubt: task.progress?.inDoubt,
  };
  return { task: { ...polledTask, progress: next }, effects: [{ type: "show_progress" }] };
}

/** When the thread may be changed again. */
function nextEditAtMs({ progress }: Task): number {
  if (progress === undefined) return Number.NEGATIVE_INFINITY;
  const { shownAtMs, isUnshown, notBeforeMs } = progress;
  // It waits for its turn, and nothing was changed.
  if (isUnshown && notBeforeMs !== undefined) return notBeforeMs;
  return Math.max(shownAtMs + minGapMs, notBeforeMs ?? Number.NEGATIVE_INFINITY);
}

/** The next poll then does not wait for further news. */
function markUnshown(task: Task): Task {
  if (task.progress === undefined || task.progress.isUnshown) return task;
  return { ...task, progress: { ...task.progress, isUnshown: true } };
}

function isNews({ progress }: Task, news: NonNullable<AcceptedResult["progress"]>): boolean {
  return (
    progress?.isUnshown === true ||
    news.text?.slice(0, maxTextLength) !== progress?.text ||
    news.percent !== progress?.percent ||
    news.partial_text !== progress?.partialText ||
    JSON.stringify(news.steps) !== JSON.stringify(progress?.steps)
  );
}

export function onProgressShown(
  task: Task,
  event: EventOf<"progress_shown">,
  policy: Policy,
): Transition {
  if (event.shown.isStopped) return requestCancel(withShownProgress(task, event), "asked");
  return pollAfterNews(withShownProgress(task, event), { nowMs: event.nowMs, policy });
}

export function withShownProgress(task: Task, { shown, nowMs }: EventOf<"progress_shown">): Task {
  const { stream = task.stream, inDoubt = false, delayMs } = shown;
  return {
    ...task,
    ...(stream === undefined ? {} : { stream }),
    progress: {
      ...task.progress,
      shownAtMs: nowMs,
      ...(delayMs !== undefined && { notBeforeMs: nowMs + delayMs, isUnshown: true as const }),
      ...(inDoubt && { inDoubt: true as const }),
    },
  };
}

/**
 * Polls soon after news, because a person may watch the progress, but not before the thread may be changed again. Where that is more than a
 * second away, it polls before, because the answer may be there.
 */
function pollAfterNews(
  task: Task,
  { nowMs, policy }: { nowMs: number; policy: Policy },
): Transition {
  const maxGapMs = destinationOf(task, policy).longPollMs > 0 ? 0 : newsGapMs;
  const timeToEditMs = nextEditAtMs(task) - nowMs;
  const turnMs = task.progress?.isUnshown ? timeToEditMs : maxGapMs;
  const ceilingMs = Math.min(maxGapMs, writingGapMs(task, nowMs) ?? maxGapMs, turnMs);
  const minDelayMs = Math.min(minGapMs, timeToEditMs);
  return schedulePoll(task, { nowMs, policy, ceilingMs, minDelayMs });
}

/** The longest gap after a poll that brought no news. A destination that held the poll to its end may hold the next one at once. */
function silentGapMs(
  task: Task,
  { nowMs, policy }: { nowMs: number; policy: Policy },
): number | undefined {
  const { longPollMs } = destinationOf(task, policy);
  const heldMs = nowMs - (waitOf(task).polledAtMs ?? nowMs);
  return longPollMs > 0 && heldMs >= longPollMs ? 0 : writingGapMs(task, nowMs);
}

/**
 * The gap between polls while an answer is being written: at most the time since its last new part, so polls are frequent after news and
 * rarer while the agent pauses. Returns undefined if there is no partial answer.
 */
function writingGapMs({ progress }: Task, nowMs: number): number | undefined {
  return progress?.partialText === undefined ? undefined : Math.max(0, nowMs - progress.shownAtMs);
}

/** Marks that a worker that died may have begun a stream message that is not in the record. */
export function markStreamInDoubt(task: Task, policy: Policy): Task {
  // With parallel tasks in the thread, an unrecorded stream cannot be assigned to one of them, so it stays.
  if (destinationOf(task, policy).concurrency === "parallel") return task;
  return { ...task, stream: { messages: [], length: 0, ...task.stream, inDoubt: true } };
}

/** A poll is safe to repeat, so only the end of the task, or a host that does not know it, ends the wait before the deadline. */
export function onPollFailed(
  task: Task,
  { nowMs, error }: EventOf<"call_failed">,
  policy: Policy,
): Transition {
  if (isUnread(error)) return retryUnread(task, { error, nowMs });
  // A peer at another address that does not know the task says nothing about the one that took it.
  const isForeign = error.reason === "task_not_found" && hasMoved(task, policy);
  if (isForeign) return setOutcome(task, ambiguousOutcome);
  if (isEndOfTask(error) || error.reason === "task_not_found")
    return setOutcome(task, failedOutcome(error));
  const again = countFailure(task, error);
  // An unreachable peer may come back. One that rejects our credentials or breaks the contract is unlikely to recover.
  if ((again.nonTransientFailures ?? 0) >= maxAttempts) {
    return { task: setOutcome(task, ambiguousOutcome).task, effects: [{ type: "cancel" }] };
  }
  const maxDelayMs = timeToDeadlineMs(task, nowMs - graceMs);
  const maxBackoffMs = Math.floor(destinationOf(task, policy).maxPollGapMs / 1.5);
  const delayMs = Math.min(
    taskRetryDelayMs(again.attempts, error.retryAfterMs, maxBackoffMs),
    maxDelayMs,
  );
  // With jitter, so that the tasks of an unreachable host do not poll it at the same moment.
  return { task: again, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 2) })] };
}
