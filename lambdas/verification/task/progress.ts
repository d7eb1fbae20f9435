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

/** The longest gap before the next poll of a task whose last poll brought news. */
const newsGapMs = 30_000;

type Accepted = Extract<TaskResult, { status: "accepted" }>;

/** The poll found it at work: what is new is shown, if it is time, and then it is polled again. */
export function atWork(
  task: Task,
  { result, nowMs, policy }: { result: Accepted; nowMs: number; policy: Policy },
): Step {
  const { poll_after_ms: pollAfterMs, progress } = result;
  const polled: Task = { ...task, ...(pollAfterMs === undefined ? { pollAfterMs: undefined } : { pollAfterMs }) };
  if (progress === undefined || !isNews(task, progress)) {
    return nextPoll(polled, { nowMs, policy, ceilingMs: writingGapMs(polled, nowMs) });
  }
  const isTime = nowMs - (task.progress?.shownAtMs ?? Number.NEGATIVE_INFINITY) >= leastGapMs;
  if (!isTime) return pollAfterNews(polled, { nowMs, policy });
  const { percent, partial_text: partialText } = progress;
  const text = progress.text?.slice(0, maxTextLength);
  const next = { text, percent, partialText, shownAtMs: nowMs, inDoubt: task.progress?.inDoubt };
  return { task: { ...polled, progress: next }, effects: [{ type: "show_progress" }] };
}

export function progressShown(
  task: Task,
  { shown, nowMs, policy }: { shown: Shown; nowMs: number; policy: Policy },
): Step {
  const { progress } = task;
  const { stream = task.stream, inDoubt = false, delayMs = 0 } = shown;
  const kept: Task = {
    ...task,
    ...(stream === undefined ? {} : { stream }),
    progress: { ...progress, shownAtMs: nowMs + delayMs, ...(inDoubt ? { inDoubt: true as const } : {}) },
  };
  return task.state === "waiting" ? pollAfterNews(kept, { nowMs, policy }) : { task: kept, effects: [wake(0)] };
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

/** Somebody may watch how far it is. */
function pollAfterNews(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const ceilingMs = Math.min(newsGapMs, writingGapMs(task, nowMs) ?? newsGapMs);
  return nextPoll(task, { nowMs, policy, ceilingMs });
}

/**
 * While an answer is being written, the next poll comes after at most as long as nothing of it has come: at once after a new
 * part, and less and less often where the agent has paused. Undefined where nothing is being written.
 */
function writingGapMs({ progress }: Task, nowMs: number): number | undefined {
  return progress?.partialText === undefined ? undefined : Math.max(0, nowMs - progress.shownAtMs);
}
