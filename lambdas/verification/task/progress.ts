/** What the agent tells on its way, and when the thread shows it: at most once a second, and never just before the answer. */
import type { TaskResult } from "../../../contracts/methods.ts";
import type { Shown } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { nextPoll, type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** Slack's own advice for edits of one message (https://docs.slack.dev/apis/web-api/rate-limits). */
const leastGapMs = 1000;

/** The thread shows less. */
const maxTextLength = 1000;

/** Polls of a task that tells how far it is are at most about three times as far apart as the first. */
const mostGrowth = 3;

type Accepted = Extract<TaskResult, { status: "accepted" }>;

/** The poll found it at work: what is new is shown, if it is time, and then it is polled again. */
export function atWork(task: Task, { result, nowMs }: { result: Accepted; nowMs: number }): Step {
  const { poll_after_ms: pollAfterMs, progress } = result;
  const polled: Task = { ...task, ...(pollAfterMs === undefined ? { pollAfterMs: undefined } : { pollAfterMs }) };
  const isTime = nowMs - (task.progress?.shownAtMs ?? Number.NEGATIVE_INFINITY) >= leastGapMs;
  if (progress === undefined || !isTime || !isNews(task, progress))
    return { task: polled, effects: [nextPoll(polled, nowMs)] };
  const { percent, partial_text: partialText } = progress;
  const text = progress.text?.slice(0, maxTextLength);
  const next = { text, percent, partialText, shownAtMs: nowMs, inDoubt: task.progress?.inDoubt };
  return { task: { ...polled, progress: next }, effects: [{ type: "show_progress" }] };
}

export function progressShown(task: Task, { shown, nowMs }: { shown: Shown; nowMs: number }): Step {
  const { progress } = task;
  const { stream = task.stream, inDoubt = false, delayMs = 0 } = shown;
  const kept: Task = {
    ...task,
    ...(stream === undefined ? {} : { stream }),
    progress: { ...progress, shownAtMs: nowMs + delayMs, ...(inDoubt ? { inDoubt: true as const } : {}) },
  };
  return { task: kept, effects: [task.state === "waiting" ? soonAgain(kept, nowMs) : wake(0)] };
}

/** A worker that died may have begun a stream, or a further message of it, that nobody knows of. */
export function streamInDoubt(task: Task, policy: Policy): Task {
  // Beside others in its thread nobody could tell whose it is: then what was begun unknown to us stays.
  if (destinationOf(task, policy).concurrency === "parallel") return task;
  return { ...task, stream: { messages: [], length: 0, ...task.stream, inDoubt: true } };
}

/** How long the answer waits, so that an edit of the placeholder is not the one that comes last. */
export function settlesInMs({ progress }: Task, nowMs: number): number {
  if (progress === undefined) return 0;
  return Math.min(leastGapMs, Math.max(0, progress.shownAtMs + leastGapMs - nowMs));
}

function isNews({ progress }: Task, news: NonNullable<Accepted["progress"]>): boolean {
  return (
    news.text?.slice(0, maxTextLength) !== progress?.text ||
    news.percent !== progress?.percent ||
    news.partial_text !== progress?.partialText
  );
}

/** Somebody watches what is being written, or how far it is: the polls are not to grow apart as those of a silent task. */
function soonAgain(task: Task, nowMs: number) {
  const isWriting = task.progress?.partialText !== undefined;
  return nextPoll({ ...task, polls: isWriting ? 0 : Math.min(task.polls, mostGrowth) }, nowMs);
}
