/** The states `queued` and `announced`: the task waits for its turn in the thread, then what goes along with it is gathered. */
import type { Context, Delay, EventOf } from "./events.ts";
import type { UserFile } from "./messages.ts";
import { chooseDestination, destinationOf, type Policy, withCall } from "./routing.ts";
import { sendTask } from "./sent.ts";
import {
  advance,
  countSlackFailure,
  deliveryMs,
  failedOutcome,
  graceMs,
  isOutdated,
  isPastDeadline,
  retrySlack,
  setOutcome,
  type Transition,
  threadReleaseMs,
  unavailableOutcome,
  wake,
} from "./step.ts";
import type { Task, TaskOutcome } from "./task.ts";
import { withShownProgress } from "./waiting.ts";

/** Tries to read what goes along with a message: about a quarter of a minute. */
export const maxContextTries = 4;

export function onWokenQueued(task: Task, { nowMs }: EventOf<"woken">, policy: Policy): Transition {
  if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
  return requestThreadPlace(task, policy);
}

/** On its way to its destination, it is given its place in its thread; where it cannot go anywhere, that is told. */
export function requestThreadPlace(unrouted: Task, policy: Policy): Transition {
  const task = chooseDestination(unrouted, policy);
  if (task === undefined) return setOutcome(unrouted, failedOutcome({ reason: "agent_not_found", lost: false }));
  const { deadlineMs, concurrency } = destinationOf(task, policy);
  const turnMs = deadlineMs + graceMs + deliveryMs;
  return { task, effects: [{ type: "join_thread", turnMs, parallel: concurrency === "parallel" }] };
}

/** Its time begins when nobody is before it. */
export function onQueuePosition(
  task: Task,
  { queuePosition, freeAtMs, nowMs }: EventOf<"thread_joined">,
  policy: Policy,
): Transition {
  const placed = { ...task, queuePosition };
  if (queuePosition > 0) return { task: placed, effects: [wake(turnDelay({ freeAtMs, nowMs }))] };
  const begun = advance(startDeadline(placed, { nowMs, policy }), { state: "announced" });
  // The placeholder said that it waits.
  return { task: begun, effects: [{ type: "show_progress" }] };
}

/** Nobody is before it any more: from now on its time counts. */
export function startDeadline(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  return withCall(task, { deadlineAtMs: nowMs + destinationOf(task, policy).deadlineMs });
}

/**
 * A task that waits for its turn is told when it comes. This is for the case that nobody tells it: it looks often enough to see
 * that the task before it has an outcome before that one's time is over.
 */
export function turnDelay({ freeAtMs, nowMs }: { freeAtMs: number; nowMs: number }): Required<Delay> {
  return { delayMs: Math.min(Math.max(freeAtMs - nowMs, 0) + 1000, threadReleaseMs), jitterMs: 10_000 };
}

/** The task has a placeholder already, which becomes the answer. */
export function onThreadFullQueued(task: Task): Transition {
  return setOutcome(task, failedOutcome({ reason: "rate_limited", lost: false }));
}

/** What is to be sent is in the record before it is sent. */
export function onWokenAnnounced(task: Task, { nowMs }: EventOf<"woken">, policy: Policy): Transition {
  if (isPastDeadline(task, nowMs)) return setOutcome(task, unavailableOutcome);
  if (task.call?.params !== undefined) return sendTask(advance(task, {}), { nowMs, policy });
  if (hasContext(task)) return { task, effects: [{ type: "prepare" }] };
  return sendTask(advance(withParams(task, { context: {}, policy }), {}), { nowMs, policy });
}

/** Whether there may be more to send along than the message's text. */
function hasContext({ message: { threadTs, command, files = [] } }: Task): boolean {
  return (threadTs !== undefined && !command) || files.length > 0;
}

/** The placeholder says no longer that the task waits. */
export function onTurnShown(task: Task, event: EventOf<"progress_shown">): Transition {
  return { task: withShownProgress(task, event), effects: [wake(0)] };
}

/** A message is executed with all of its files or refused in words: with one missing it would be another message, or none at all. */
export function onPrepared(task: Task, { context }: EventOf<"prepared">, policy: Policy): Transition {
  const attached = new Set(context.attachments?.map(({ id }) => id));
  const missing = task.message.files?.find(({ id }) => !attached.has(id));
  if (missing !== undefined) return setOutcome(task, missingFileOutcome(missing));
  return { task: withParams(task, { context, policy }), effects: [wake(0)] };
}

export function onFileRefused(task: Task, { outcome }: EventOf<"file_refused">): Transition {
  return setOutcome(task, outcome);
}

/** A thread that cannot be read is no reason not to do what was asked; without its files the message is another one. */
export function onPrepareFailed(task: Task, event: EventOf<"slack_failed">, policy: Policy): Transition {
  const { again, isTerminal } = countSlackFailure(task, event);
  if (!isTerminal && again.attempts < maxContextTries) return retrySlack(again, event);
  const [file] = task.message.files ?? [];
  if (file !== undefined) return setOutcome(task, missingFileOutcome(file));
  return { task: advance(withParams(task, { context: {}, policy }), {}), effects: [wake(0)] };
}

function missingFileOutcome({ name }: UserFile): TaskOutcome {
  return { type: "file_refused", why: "not_to_be_had", name };
}

/** The task with what will be sent, which stays as it is but for the time that is left when it is sent. */
function withParams(task: Task, { context, policy }: { context: Context; policy: Policy }): Task {
  const { message, id, place, call } = task;
  const threadTs = place?.threadTs ?? message.threadTs;
  const { history = [], attachments = [] } = context;
  const params = {
    channel: message.channel,
    text: message.text,
    ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
    team_id: message.team,
    user_id: message.user,
    correlation_id: id,
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(history.length === 0 ? {} : { history }),
    session_id: call?.sessionId,
    // A destination that the configuration no longer names has no time; a record with that could not be read again.
    timeout_ms: Math.max(1, destinationOf(task, policy).deadlineMs),
    callback: true,
  };
  return withCall(task, { params });
}
