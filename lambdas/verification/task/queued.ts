/** The states `queued` and `announced`: the task waits for its turn in the thread, then its history and files are gathered. */
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

/** Tries to read the thread's history and the message's files: about 15 seconds. */
export const maxContextTries = 4;

export function onWokenQueued(task: Task, { nowMs }: EventOf<"woken">, policy: Policy): Transition {
  if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
  return requestThreadPosition(task, policy);
}

/** Chooses the destination and asks for a position in the thread. Without a destination the task fails. */
export function requestThreadPosition(unrouted: Task, policy: Policy): Transition {
  const task = chooseDestination(unrouted, policy);
  if (task === undefined) return setOutcome(unrouted, failedOutcome({ reason: "agent_not_found", lost: false }));
  const { deadlineMs, concurrency } = destinationOf(task, policy);
  const turnMs = deadlineMs + graceMs + deliveryMs;
  return { task, effects: [{ type: "join_thread", turnMs, parallel: concurrency === "parallel" }] };
}

/** The task begins, and its deadline counts, once no other task is before it. */
export function onQueuePosition(
  task: Task,
  { queuePosition, freeAtMs, nowMs }: EventOf<"thread_joined">,
  policy: Policy,
): Transition {
  const placed = { ...task, queuePosition };
  if (queuePosition > 0) return { task: placed, effects: [wake(turnDelay({ freeAtMs, nowMs }))] };
  const begun = advance(startDeadline(placed, { nowMs, policy }), { state: "announced" });
  // The placeholder says that the task waits: it is edited.
  return { task: begun, effects: [{ type: "show_progress" }] };
}

/** Sets the deadline: the task may begin now. */
export function startDeadline(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  return withCall(task, { deadlineAtMs: nowMs + destinationOf(task, policy).deadlineMs });
}

/**
 * The delay of the next look at the thread. A waiting task gets a `thread_free` message when its turn comes. In case that message is
 * lost, it also looks often enough to notice that the task before it has an outcome.
 */
export function turnDelay({ freeAtMs, nowMs }: { freeAtMs: number; nowMs: number }): Required<Delay> {
  return { delayMs: Math.min(Math.max(freeAtMs - nowMs, 0) + 1000, threadReleaseMs), jitterMs: 10_000 };
}

/** The thread is full. The task has a placeholder already, so the failure is posted in the thread. */
export function onThreadFullQueued(task: Task): Transition {
  return setOutcome(task, failedOutcome({ reason: "rate_limited", lost: false }));
}

/** Gathers the context first, and sends the task once its params are in the record. */
export function onWokenAnnounced(task: Task, { nowMs }: EventOf<"woken">, policy: Policy): Transition {
  if (isPastDeadline(task, nowMs)) return setOutcome(task, unavailableOutcome);
  if (task.call?.params !== undefined) return sendTask(advance(task, {}), { nowMs, policy });
  if (hasContext(task)) return { task, effects: [{ type: "prepare" }] };
  return sendTask(advance(withParams(task, { context: {}, policy }), {}), { nowMs, policy });
}

/** Whether there may be a history or files to send with the message's text. */
function hasContext({ message: { threadTs, command, files = [] } }: Task): boolean {
  return (threadTs !== undefined && !command) || files.length > 0;
}

/** The placeholder says no longer that the task waits. */
export function onTurnShown(task: Task, event: EventOf<"progress_shown">): Transition {
  return { task: withShownProgress(task, event), effects: [wake(0)] };
}

/** A message is executed with all of its files or refused: without one of them it could mean something else. */
export function onPrepared(task: Task, { context }: EventOf<"prepared">, policy: Policy): Transition {
  const attached = new Set(context.attachments?.map(({ id }) => id));
  const missing = task.message.files?.find(({ id }) => !attached.has(id));
  if (missing !== undefined) return setOutcome(task, missingFileOutcome(missing));
  return { task: withParams(task, { context, policy }), effects: [wake(0)] };
}

export function onFileRefused(task: Task, { outcome }: EventOf<"file_refused">): Transition {
  return setOutcome(task, outcome);
}

/** The history or the files could not be read. The task goes on without the history, and fails without its files. */
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

/** The task with the params of `execute_task`, which are the same at every repetition but for the time that is left. */
function withParams(task: Task, { context, policy }: { context: Context; policy: Policy }): Task {
  const { message, id, threadRef, call } = task;
  const threadTs = threadRef?.threadTs ?? message.threadTs;
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
