/** To which destination a task goes: the first of its route, and the next one while it certainly has not arrived anywhere. */
import { retryDelayMs } from "./delays.ts";
import type { CallFailure } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { sessionIdOf } from "./session-id.ts";
import { conclude, failed, maxAttempts, type Step, untilDeadlineMs, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** Has its destination: the one that was chosen before as long as there is such a one, else by its route. Undefined where there is none. */
export function directed(task: Task, policy: Policy): Task | undefined {
  const names = task.destination === undefined ? [] : [task.destination];
  const to = [...names, ...policy.routeOf(task.message)].find((name) => policy.destinations.has(name));
  return to === undefined ? undefined : directTo(task, { to, policy });
}

/** Is sent. A destination that is gone, or leads elsewhere by now, is another one: what may have arrived is not sent there. */
export function sending(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const ready = isBound(task) ? task : directed(task, policy);
  if (ready === undefined) return conclude(task, failed({ reason: "agent_not_found", lost: false }));
  if (isBound(task) && hasMoved(task, policy)) return { task, effects: [{ type: "poll", by: "request_id" }] };
  const { address } = destinationOf(ready, policy);
  return { task: { ...timed(ready, nowMs), address, state: "sent" }, effects: [{ type: "send" }] };
}

/** Whether the destination leads elsewhere than where the task was sent. */
export function hasMoved(task: Task, policy: Policy): boolean {
  return task.address !== undefined && task.address !== destinationOf(task, policy).address;
}

/** Where the task may be sent, its present destination first, then the others of its route in their order. At least one. */
export function targetsOf(task: Task, policy: Policy): string[] {
  const { destination: present = "", message } = task;
  if (isBound(task)) return [present];
  const names = policy.routeOf(message).filter((name) => policy.destinations.has(name));
  const place = names.indexOf(present);
  return place < 0 ? [present, ...names] : [...names.slice(place), ...names.slice(0, place)];
}

/** Each of `targets` is tried again when its own time has come, as often as one alone is; the present one has just failed. Undefined where all were. */
export function moveOn({
  task,
  targets,
  nowMs,
  error,
  policy,
}: {
  task: Task;
  targets: readonly string[];
  nowMs: number;
  error: CallFailure;
  policy: Policy;
}): Step | undefined {
  const [present = "", ...others] = targets;
  const times = (task.tried?.[present]?.times ?? 0) + 1;
  const notBeforeMs = nowMs + retryDelayMs(times, error.retryAfterMs);
  const tried: NonNullable<Task["tried"]> = { ...task.tried, [present]: { times, notBeforeMs } };
  const [first, ...rest] = [...others, present].filter((name) => (tried[name]?.times ?? 0) < maxAttempts);
  if (first === undefined) return undefined;
  const timeOf = (name: string) => Math.max(tried[name]?.notBeforeMs ?? 0, nowMs);
  const to = rest.reduce((best, name) => (timeOf(name) < timeOf(best) ? name : best), first);
  const moved = directTo({ ...task, tried, attempts: tried[to]?.times ?? 0 }, { to, policy });
  return { task: moved, effects: [wake(Math.min(timeOf(to) - nowMs, untilDeadlineMs(task, nowMs)))] };
}

/** The session is that of the destination. */
function directTo(task: Task, { to, policy }: { to: string; policy: Policy }): Task {
  const { stopAfterResult } = destinationOf({ ...task, destination: to }, policy);
  const sessionId = sessionIdOf({
    message: task.message,
    place: task.place,
    perTask: stopAfterResult ? task.id : undefined,
  });
  const renewed = task.params && { params: { ...task.params, session_id: sessionId } };
  return { ...task, destination: to, sessionId, ...renewed };
}

/** With what is left of its time, as long as nothing of it can have arrived. */
function timed(task: Task, nowMs: number): Task {
  const { params, deadlineAtMs } = task;
  if (isBound(task) || params === undefined || deadlineAtMs === undefined) return task;
  return { ...task, params: { ...params, timeout_ms: Math.max(1, deadlineAtMs - nowMs) } };
}

function isBound({ bound, mayHaveArrived }: Task): boolean {
  return bound === true || mayHaveArrived;
}
