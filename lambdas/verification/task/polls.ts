/** When a task is polled: the first poll, and the gaps between the next ones. */
import { type AcceptedResult, answerBytesMember, type Delay, type EventOf } from "./events.ts";
import { maxObeyedMs } from "./failures.ts";
import { destinationOf, type Policy, withCall, withoutParams } from "./routing.ts";
import type { Task } from "./task.ts";
import { graceMs, timeToDeadlineMs } from "./time-limits.ts";
import { advance, type Transition, wake } from "./transition.ts";

/** Drops the params and schedules the first poll, because the agent is now at work. */
export function startWaiting(
  task: Task,
  { result, nowMs, policy }: { result: AcceptedResult; nowMs: number; policy: Policy },
): Transition {
  const sentTask = withCall(withoutParams(task), { taskId: result.task_id });
  return schedulePoll(advance(sentTask, { state: "waiting", wait: noteGaps(task, result) }), {
    nowMs,
    policy,
  });
}

/** Schedules the next poll by `pollDelay`, but not after the time by which the host must have ended the task. */
export function schedulePoll(
  task: Task,
  request: {
    nowMs: number;
    policy: Policy;
    ceilingMs?: number | undefined;
    minDelayMs?: number | undefined;
  },
): Transition {
  const { nowMs, policy, ceilingMs, minDelayMs } = request;
  const { longPollMs, maxPollGapMs } = destinationOf(task, policy);
  const gapMs = longPollMs > 0 ? Math.min(longPollGapMs, maxPollGapMs) : maxPollGapMs;
  const wait = waitOf(task);
  const ageMs = Math.max(0, nowMs - wait.workStartedAtMs);
  const { delayMs, jitterMs } = pollDelay({
    ...{ ...wait, ageMs, ceilingMs: Math.min(gapMs, ceilingMs ?? gapMs) },
    minDelayMs: Math.max(minDelayMs ?? 0, wait.minPollGapMs ?? 0),
  });
  const maxDelayMs = timeToDeadlineMs(task, nowMs - graceMs);
  const wakeDelayMs = Math.min(delayMs, maxDelayMs);
  return {
    task: { ...task, wait: { ...wait, nextPollAtMs: nowMs + wakeDelayMs } },
    effects: [
      wake({
        delayMs: wakeDelayMs,
        jitterMs: Math.min(jitterMs, Math.max(0, maxDelayMs - delayMs)),
      }),
    ],
  };
}

/** Returns the task's `wait`. Without one, the agent counts as at work since the task was received. */
export function waitOf({ wait, receivedAtMs }: Task): NonNullable<Task["wait"]> {
  return wait ?? { workStartedAtMs: receivedAtMs, polls: 0 };
}

/** Returns the task's `wait` with the gaps before its next poll that the answer calls for. */
export function noteGaps(task: Task, result: AcceptedResult): NonNullable<Task["wait"]> {
  const { poll_after_ms: pollAfterMs, [answerBytesMember]: bytes } = result;
  const minPollGapMs = typeof bytes === "number" ? Math.floor(bytes / bytesPerMs) : undefined;
  return { ...waitOf(task), pollAfterMs, minPollGapMs };
}

/** One second for each 50 KB of the last answer: reading a megabyte holds the process for up to a tenth of a second. */
const bytesPerMs = 50;

/** Waits for a destination that is at its limit of concurrent calls. Nothing was sent, so this is no failure. */
export function onBusy(task: Task, { delayMs }: EventOf<"busy">): Transition {
  // The planned poll was not made. If `nextPollAtMs` stayed, a completion push would take that poll as due now and be dropped.
  const { nextPollAtMs: _passedPollAtMs, ...wait } = waitOf(task);
  const waitingTask = task.wait === undefined ? task : { ...task, wait };
  return { task: waitingTask, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 4) })] };
}

const pollBaseMs = 500;

/** Each of the first polls comes after up to half as much time again as the one before. */
const pollGrowth = 1.5;

/** A gap between two polls is at most this share of the task's age, which bounds how late an answer is. */
const pollAgeShare = 0.2;

/** The longest gap between two polls, however old the task is. */
const pollCeilingMs = 10 * 60_000;

/** The random share of a gap, so that tasks that were sent together are not polled together. */
const pollJitterShare = 0.5;

/** The longest gap between two polls of a destination with long polls. */
const longPollGapMs = 30_000;

/**
 * Returns the delay before the next `get_task`: at most a fifth of the time for which the agent has been at work, ten minutes, and
 * `ceilingMs`. It is at least `minDelayMs`, and what the host asks for (up to 15 minutes), or else half a second.
 */
export function pollDelay({
  polls,
  ageMs,
  pollAfterMs,
  ceilingMs = pollCeilingMs,
  minDelayMs = 0,
}: {
  polls: number;
  ageMs: number;
  pollAfterMs?: number | undefined;
  ceilingMs?: number | undefined;
  minDelayMs?: number | undefined;
}): Required<Delay> {
  const advisedMs = Math.min(Math.max(pollAfterMs ?? pollBaseMs, 100), maxObeyedMs);
  const minPollMs = Math.max(advisedMs, minDelayMs);
  const grownMs = advisedMs * pollGrowth ** Math.min(polls, 30);
  const boundMs = Math.min(grownMs, ageMs * pollAgeShare, pollCeilingMs, ceilingMs);
  const maxPollMs = Math.max(minPollMs, Math.floor(boundMs));
  const delayMs = Math.max(minPollMs, Math.floor(maxPollMs * (1 - pollJitterShare)));
  return { delayMs, jitterMs: maxPollMs - delayMs };
}
