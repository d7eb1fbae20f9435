/** To which destination a task goes: the first of its route, and the next one while it certainly has not arrived anywhere. */

import type { CallFailure } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { inKnownSession, sessionOf } from "./session.ts";
import type { Step } from "./step.ts";
import { failed, maxAttempts, retryDelayMs, setOutcome, untilDeadlineMs, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** Has its destination: the one that was chosen before as long as there is such a one, else by its route. Undefined where there is none. */
export function directed(task: Task, policy: Policy): Task | undefined {
  const names = task.destination === undefined ? [] : [task.destination];
  const to = [...names, ...policy.routeOf(task.message)].find((name) => policy.destinations.has(name));
  return to === undefined ? undefined : directTo(task, { to, policy });
}

/** Is sent. A destination that is gone, or leads elsewhere by now, is another one: what may have arrived is not sent there. */
export function sending(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const ready = isPinned(task) ? task : directed(task, policy);
  if (ready === undefined) return setOutcome(task, failed({ reason: "agent_not_found", lost: false }));
  if (isPinned(task) && hasMoved(task, policy)) return { task, effects: [{ type: "poll", by: "request_id" }] };
  const { address } = destinationOf(ready, policy);
  const sent: Task = { ...timed(ready, nowMs), address, state: "sent", workStartedAtMs: nowMs };
  return { task: sent, effects: [{ type: "send" }] };
}

/** Whether the destination leads elsewhere than where the task was sent. */
export function hasMoved(task: Task, policy: Policy): boolean {
  return task.address !== undefined && task.address !== destinationOf(task, policy).address;
}

/** Where the task may be sent, its present destination first, then the others of its route in their order. At least one. */
export function targetsOf(task: Task, policy: Policy): string[] {
  const { destination: present = "", message } = task;
  if (isPinned(task)) return [present];
  const names = policy.routeOf(message).filter((name) => policy.destinations.has(name));
  const place = names.indexOf(present);
  return place < 0 ? [present, ...names] : [...names.slice(place), ...names.slice(0, place)];
}

/**
 * Each of `targets` is tried again when its own time has come, as often as one alone is; the present one has just failed, and is
 * not tried again where that was its last try. Undefined where all were tried so often.
 */
export function moveOn({
  task,
  targets,
  nowMs,
  error,
  policy,
  isLastTry = false,
}: {
  task: Task;
  targets: readonly string[];
  nowMs: number;
  error: CallFailure;
  policy: Policy;
  isLastTry?: boolean;
}): Step | undefined {
  const [present = "", ...others] = targets;
  const times = isLastTry ? maxAttempts : (task.undeliveredAttempts?.[present]?.times ?? 0) + 1;
  const notBeforeMs = nowMs + retryDelayMs(times, error.retryAfterMs);
  const undeliveredAttempts: NonNullable<Task["undeliveredAttempts"]> = {
    ...task.undeliveredAttempts,
    [present]: { times, notBeforeMs },
  };
  const [first, ...rest] = [...others, present].filter((name) => (undeliveredAttempts[name]?.times ?? 0) < maxAttempts);
  if (first === undefined) return undefined;
  const timeOf = (name: string) => Math.max(undeliveredAttempts[name]?.notBeforeMs ?? 0, nowMs);
  const to = rest.reduce((best, name) => (timeOf(name) < timeOf(best) ? name : best), first);
  const moved = directTo(
    { ...task, undeliveredAttempts, attempts: undeliveredAttempts[to]?.times ?? 0 },
    { to, policy },
  );
  return { task: moved, effects: [wake(Math.min(timeOf(to) - nowMs, untilDeadlineMs(task, nowMs)))] };
}

/**
 * The session is that of the destination; a session that the task had to begin elsewhere is left. The agent is told the
 * conversation, which is the same in every session.
 */
function directTo(task: Task, { to, policy }: { to: string; policy: Policy }): Task {
  const { stopAfterResult: isOwn } = destinationOf({ ...task, destination: to }, policy);
  const isMoved = task.destination !== undefined && task.destination !== to;
  const { ownSessions, ...kept } = isMoved ? inKnownSession(task) : task;
  const directed = { ...kept, destination: to, ...(ownSessions !== undefined && !isMoved && { ownSessions }) };
  const conversation = sessionOf({ ...directed, ownSessions: undefined }, { isOwn, policy });
  const renewed = task.params && { params: { ...task.params, session_id: conversation } };
  return { ...directed, sessionId: sessionOf(directed, { isOwn, policy }), ...renewed };
}

/** With what is left of its time, as long as nothing of it can have arrived. */
function timed(task: Task, nowMs: number): Task {
  const { params, deadlineAtMs } = task;
  if (isPinned(task) || params === undefined || deadlineAtMs === undefined) return task;
  return { ...task, params: { ...params, timeout_ms: Math.max(1, deadlineAtMs - nowMs) } };
}

function isPinned({ pinnedDestination, mayHaveArrived }: Task): boolean {
  return pinnedDestination === true || mayHaveArrived;
}
