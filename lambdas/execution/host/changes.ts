/** The changes that a task's record may see, as pure functions: each gives the next record, or undefined where the state forbids it. */
import { isTerminal, mayFollow, type TaskState } from "../../../contracts/task.ts";
import type { ExecutionTask, Outcome } from "./execution-task.ts";

export type Change = (task: ExecutionTask) => ExecutionTask | undefined;

/**
 * Takes the lease of a task that nobody has started; this is what lets an agent start at most once. Whoever has not heard
 * whether the lease was given may ask again: it is still its own.
 */
export function start({ owner, untilMs }: { owner: string; untilMs: number }): Change {
  return (task) =>
    task.state === "submitted" || isHeldBy(task, owner)
      ? { ...task, state: "working", lease: { owner, untilMs } }
      : undefined;
}

/**
 * Claims the repetition of a queue message that may have been lost: whoever is first within `everyMs` sends it. The gap
 * doubles each time: a message that merely waits its turn is not to be joined by one more every minute.
 */
export function requeue({ nowMs, everyMs }: { nowMs: number; everyMs: number }): Change {
  return (task) => {
    const { state, queuedAtMs = task.createdAtMs } = task;
    const gapMs = Math.max(everyMs, queuedAtMs - task.createdAtMs);
    return state === "submitted" && nowMs - queuedAtMs > gapMs ? { ...task, queuedAtMs: nowMs } : undefined;
  };
}

export function renew({ owner, untilMs }: { owner: string; untilMs: number }): Change {
  return (task) => (isHeldBy(task, owner) ? { ...task, lease: { owner, untilMs } } : undefined);
}

export function report({ owner, progress }: { owner: string; progress: ExecutionTask["progress"] }): Change {
  return (task) => (isHeldBy(task, owner) ? { ...task, progress } : undefined);
}

/** The end as its own runner tells it. */
export function end(request: { owner: string; outcome: Outcome; expiresAtMs: number }): Change {
  const { owner, outcome, expiresAtMs } = request;
  return (task) => (isHeldBy(task, owner) ? over({ task, state: stateOf(outcome), outcome, expiresAtMs }) : undefined);
}

/** The end as others tell it: the lease lapsed, and `lostAfterMs` more went by without a word. The agent never runs again. */
export function giveUp(request: { nowMs: number; lostAfterMs: number; expiresAtMs: number }): Change {
  const outcome: Outcome = { type: "failure", reason: "execution_failed", lost: true };
  const { expiresAtMs } = request;
  return (task) => (isLost({ task, ...request }) ? over({ task, state: "failed", outcome, expiresAtMs }) : undefined);
}

export function cancel({ expiresAtMs }: { expiresAtMs: number }): Change {
  return (task) => over({ task, state: "canceled", expiresAtMs });
}

export function isLost(request: { task: ExecutionTask; nowMs: number; lostAfterMs: number }): boolean {
  const { task, nowMs, lostAfterMs } = request;
  return task.state === "working" && nowMs >= (task.lease?.untilMs ?? 0) + lostAfterMs;
}

export function isOver(task: ExecutionTask): boolean {
  return isTerminal(task.state);
}

function isHeldBy(task: ExecutionTask, owner: string): boolean {
  return task.state === "working" && task.lease?.owner === owner;
}

function stateOf(outcome: Outcome): TaskState {
  if (outcome.type === "success") return "completed";
  return outcome.reason === "plan_error" ? "rejected" : "failed";
}

/** What was needed to run the task goes; ids, outcome and times stay until the record expires. */
function over(request: {
  task: ExecutionTask;
  state: TaskState;
  outcome?: Outcome;
  expiresAtMs: number;
}): ExecutionTask | undefined {
  const { state, outcome, expiresAtMs } = request;
  const { params: _params, lease: _lease, progress: _progress, ...task } = request.task;
  if (!mayFollow({ from: task.state, to: state })) return undefined;
  return { ...task, state, expiresAtMs, ...(outcome && { outcome }) };
}
