/** The task machine: what a task does next. A pure function of the record and one event; the interpreter runs its effects. */
import type { ClientReason } from "../../../contracts/errors.ts";
import { maxTextLength } from "../../../contracts/methods.ts";
import { isTooOld, maxAgeMs } from "../gate/age.ts";
import { pollDelayMs, retryDelayMs } from "./delays.ts";
import type { CallFailure, TaskEffect, TaskEvent } from "./events.ts";
import { sessionIdOf } from "./session-id.ts";
import type { Outcome, Task } from "./task.ts";

export type DestinationPolicy = {
  /** Time that a task may take from its announcement on, in milliseconds. */
  deadlineMs: number;
  /** The peer deduplicates by request id, so that an ambiguous send may be repeated. */
  idempotent: boolean;
  /** End the session when the task is over; the session is then the task's own. */
  stopAfterResult: boolean;
};

export type Policy = {
  isAllowed(message: Task["message"]): boolean;
  /** The destination that the routes give, or undefined where no route fits. */
  routeOf(message: Task["message"]): string | undefined;
  destinations: ReadonlyMap<string, DestinationPolicy>;
};

export type Step = { task: Task; effects: TaskEffect[] };
type Given<E extends TaskEvent["type"]> = { task: Task; event: Extract<TaskEvent, { type: E }>; policy: Policy };

/** What the host is given beyond the deadline to say `timeout` itself. */
const graceMs = 15_000;
/** Failed acts in a row after which sending, looking up or sweeping is given up. */
const maxAttempts = 8;
/** A post that timed out lands within a minute or never. */
const sweepAfterMs = 120_000;
const afterDeadLetterMs = 5 * 60_000;

const endReasons: readonly ClientReason[] = [
  "execution_failed",
  "timeout",
  "canceled",
  "plan_error",
  "budget_exceeded",
  "payload_too_large",
];

/** The next record and what to do. The record is to be stored before the act is begun. */
export function next({ task, event, policy }: { task: Task; event: TaskEvent; policy: Policy }): Step {
  switch (event.type) {
    case "woken":
      return woken({ task, event, policy });
    case "announced":
      return {
        task: advance(task, { state: "announced", placeholderTs: event.ts, announcedAtMs: event.nowMs }),
        effects: [wake(0)],
      };
    case "answered":
      return answered({ task, event, policy });
    case "call_failed":
      return callFailed({ task, event, policy });
    case "canceled":
      return conclude(task, failed({ reason: "timeout", lost: false }));
    case "delivered":
      return {
        task: advance(task, { state: "done" }),
        effects: [...stopSession(task, policy), wake(sweepAfterMs)],
      };
    case "swept":
      return { task: forget(task), effects: [] };
    case "slack_failed":
      return slackFailed({ task, event, policy });
    case "dead_lettered":
      return deadLettered(task);
  }
}

function woken({ task, event, policy }: Given<"woken">): Step {
  const { nowMs, resumed } = event;
  const heal = resumed || task.attempts > 0;
  switch (task.state) {
    case "received":
      return received({ task, event, policy, heal });
    case "announced":
      if (isPastDeadline(task, nowMs)) return conclude(task, failed({ reason: "timeout", lost: false }));
      return { task: advance(task, { state: "sent" }), effects: [{ type: "send" }] };
    case "sent": {
      // In doubt it is looked up before anything is sent again, however late it is: the agent may be at work.
      const inDoubt = resumed || task.mayHaveArrived;
      if (inDoubt) return { task: { ...task, mayHaveArrived: true }, effects: [{ type: "poll", by: "request_id" }] };
      if (isPastDeadline(task, nowMs)) return conclude(task, failed({ reason: "timeout", lost: false }));
      return { task, effects: [{ type: "send" }] };
    }
    case "waiting":
      if (task.expired || isPastDeadline(task, nowMs - graceMs)) {
        return { task: { ...task, expired: true, attempts: 0 }, effects: [{ type: "cancel" }] };
      }
      return { task: { ...task, polls: task.polls + 1 }, effects: [{ type: "poll", by: "task_id" }] };
    case "delivering":
      return { task, effects: [{ type: "deliver", heal }] };
    case "done":
      return { task, effects: task.swept ? [] : [{ type: "sweep" }] };
  }
}

function received({ task, event, policy, heal }: Given<"woken"> & { heal: boolean }): Step {
  const { message } = task;
  if (isTooOld({ ts: message.ts, receivedAtMs: task.receivedAtMs, nowMs: event.nowMs }))
    return conclude(task, { type: "too_old" });
  if (!policy.isAllowed(message)) return conclude(task, { type: "refused" });
  // A file without a word: attachments do not travel yet, so there is nothing to do.
  if (message.text === "") return conclude(task, failed({ reason: "invalid_params", lost: false }));
  if (message.text.length > maxTextLength) return conclude(task, failed({ reason: "payload_too_large", lost: false }));
  const name = task.destination ?? policy.routeOf(message);
  const destination = name === undefined ? undefined : policy.destinations.get(name);
  if (name === undefined || destination === undefined) {
    return conclude(task, failed({ reason: "agent_not_found", lost: false }));
  }
  const sessionId = sessionIdOf({ message, perTask: destination.stopAfterResult ? task.id : undefined });
  return {
    task: {
      ...task,
      destination: name,
      sessionId,
      deadlineAtMs: event.nowMs + destination.deadlineMs,
      params: {
        channel: message.channel,
        text: message.text,
        ...(message.threadTs === undefined ? {} : { thread_ts: message.threadTs }),
        team_id: message.team,
        user_id: message.user,
        correlation_id: task.id,
        session_id: sessionId,
        timeout_ms: destination.deadlineMs,
      },
    },
    effects: [{ type: "announce", heal }],
  };
}

function answered({ task, event: { result } }: Given<"answered">): Step {
  switch (result.status) {
    case "success":
      return conclude(task, { type: "answer", text: result.response_text });
    case "input_required":
      return conclude(task, { type: "answer", text: result.prompt });
    case "accepted":
      // A task that cannot be canceled any more and has no result either: its time is over all the same.
      if (task.expired) return conclude(task, failed({ reason: "timeout", lost: false }));
      return {
        task: advance(task, { state: "waiting", taskId: result.task_id }),
        effects: [wake(pollDelayMs({ polls: task.polls, pollAfterMs: result.poll_after_ms }))],
      };
  }
}

function callFailed({ task, event: { nowMs, act, error }, policy }: Given<"call_failed">): Step {
  if (task.state === "waiting") return pollFailed({ task, nowMs, error });
  return act === "send" ? sendFailed({ task, nowMs, error }) : lookUpFailed({ task, nowMs, error, policy });
}

function sendFailed({ task, nowMs, error }: { task: Task; nowMs: number; error: CallFailure }): Step {
  const mayHaveArrived = task.mayHaveArrived || error.reason === "ambiguous";
  if (isPassing(error)) {
    const again = { ...task, mayHaveArrived, attempts: task.attempts + 1 };
    if (again.attempts < maxAttempts && !isPastDeadline(task, nowMs)) return later(again, error);
  }
  // The doubt of an earlier try stays: what is refused now may be running since then.
  return conclude(task, failed(mayHaveArrived && !endsTheTask(error) ? { reason: "ambiguous", lost: false } : error));
}

/** The peer was asked whether it knows the task. Only one that deduplicates is sent it again, and only in time. */
function lookUpFailed({
  task,
  nowMs,
  error,
  policy,
}: {
  task: Task;
  nowMs: number;
  error: CallFailure;
  policy: Policy;
}): Step {
  if (endsTheTask(error)) return conclude(task, failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  if (isPassing(error) && again.attempts < maxAttempts) return later(again, error);
  const mayRepeat = !isPassing(error) && destinationOf(task, policy).idempotent;
  if (mayRepeat && !isPastDeadline(task, nowMs)) return { task, effects: [{ type: "send" }] };
  const neverArrived = mayRepeat && error.reason === "task_not_found";
  return conclude(task, failed({ reason: neverArrived ? "timeout" : "ambiguous", lost: false }));
}

/** Reading is safe to repeat: only what the task itself ended with, or its absence, ends the wait before the deadline. */
function pollFailed({ task, nowMs, error }: { task: Task; nowMs: number; error: CallFailure }): Step {
  if (task.expired) {
    // Too late to cancel: it has ended, so its result is there. Anything else: its time is over.
    const ended = error.reason === "invalid_state" && task.attempts === 0;
    if (ended) return { task: { ...task, attempts: 1 }, effects: [{ type: "poll", by: "task_id" }] };
    return conclude(task, failed({ reason: "timeout", lost: false }));
  }
  if (endsTheTask(error) || error.reason === "task_not_found") return conclude(task, failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  // A peer that cannot be reached may come back; one that answers nonsense, or lets us in no more, hardly does.
  if (!isPassing(error) && again.attempts >= maxAttempts)
    return conclude(task, failed({ reason: "ambiguous", lost: false }));
  const untilDeadlineMs = Math.max(0, (task.deadlineAtMs ?? nowMs) + graceMs - nowMs);
  return { task: again, effects: [wake(Math.min(retryDelayMs(again.attempts, error.retryAfterMs), untilDeadlineMs))] };
}

function slackFailed({ task, event: { nowMs, kind, retryAfterMs }, policy }: Given<"slack_failed">): Step {
  const again = { ...task, attempts: task.attempts + 1 };
  const terminal = kind === "gone" || kind === "refused" || kind === "no_such_message";
  if (task.state === "done") {
    const givenUp = terminal || again.attempts >= maxAttempts;
    return givenUp
      ? { task: forget(task), effects: [] }
      : { task: again, effects: [wake(retryDelayMs(again.attempts, retryAfterMs))] };
  }
  // An answer that Slack does not take is told in words of ours; those are refused by nothing but a Slack that is gone.
  if (kind === "refused" && task.outcome?.type === "answer") {
    return conclude(task, failed({ reason: "internal", lost: false }));
  }
  const givenUp = terminal || nowMs - task.receivedAtMs > maxAgeMs;
  if (givenUp) return { task: { ...forget(task), state: "done" }, effects: stopSession(task, policy) };
  return { task: again, effects: [wake(retryDelayMs(again.attempts, retryAfterMs))] };
}

/** Before the outcome is known, the failure is the outcome; from then on the delivery is taken up again later. */
function deadLettered(task: Task): Step {
  if (task.state === "done" || task.state === "delivering") {
    const again = { ...task, attempts: Math.max(1, task.attempts) };
    return { task: again, effects: task.swept ? [] : [wake(afterDeadLetterMs)] };
  }
  const mayRun = task.state === "sent" || task.state === "waiting";
  return conclude(task, failed({ reason: mayRun ? "ambiguous" : "internal", lost: false }));
}

function conclude(task: Task, outcome: Outcome): Step {
  return { task: advance(task, { state: "delivering", outcome }), effects: [wake(0)] };
}

function failed({ reason, lost }: Pick<CallFailure, "reason" | "lost">): Outcome {
  return { type: "failed", reason, lost };
}

/** The task is over: the texts go, the ids stay until the record expires, so that a late redelivery is still known. */
function forget(task: Task): Task {
  const { params: _params, outcome: _outcome, ...rest } = task;
  return { ...rest, message: { ...task.message, text: "" }, swept: true };
}

function advance(task: Task, changes: Partial<Task>): Task {
  return { ...task, attempts: 0, ...changes };
}

function wake(delayMs: number): TaskEffect {
  return { type: "wake", delayMs };
}

function later(task: Task, error: CallFailure): Step {
  return { task, effects: [wake(retryDelayMs(task.attempts, error.retryAfterMs))] };
}

function stopSession(task: Task, policy: Policy): TaskEffect[] {
  return task.destination !== undefined && destinationOf(task, policy).stopAfterResult
    ? [{ type: "stop_session" }]
    : [];
}

/** Nobody knows, or certainly not processed: the same call may be made again. */
function isPassing({ reason, retryable }: CallFailure): boolean {
  return reason === "ambiguous" || retryable;
}

/** What a task itself can have ended with, as opposed to what can be wrong with a call about it. */
function endsTheTask({ reason }: CallFailure): boolean {
  return endReasons.includes(reason);
}

/** A destination that the configuration no longer names is treated as one that cannot be asked twice. */
function destinationOf(task: Task, policy: Policy): DestinationPolicy {
  const known = task.destination === undefined ? undefined : policy.destinations.get(task.destination);
  return known ?? { deadlineMs: 0, idempotent: false, stopAfterResult: false };
}

function isPastDeadline(task: Task, nowMs: number): boolean {
  return task.deadlineAtMs !== undefined && nowMs >= task.deadlineAtMs;
}
