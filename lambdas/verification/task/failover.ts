/** To which destination a task goes: the first of its route, and the next one while it certainly has not arrived anywhere. */
import { retryDelayMs } from "./delays.ts";
import type { CallFailure } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { sessionIdOf } from "./session-id.ts";
import { type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** What was chosen before, as long as there is such a destination; undefined where there is none to go to. */
export function firstTargetOf(task: Task, policy: Policy): string | undefined {
  const names = task.destination === undefined ? [] : [task.destination];
  return [...names, ...policy.routeOf(task.message)].find((name) => policy.destinations.has(name));
}

/** Where the task may be sent, its present destination first, then the others of its route in their order. At least one. */
export function targetsOf(task: Task, policy: Policy): string[] {
  const { destination: present = "", message, bound } = task;
  if (bound || task.mayHaveArrived) return [present];
  const names = policy.routeOf(message).filter((name) => policy.destinations.has(name));
  const place = names.indexOf(present);
  return place < 0 ? [present, ...names] : [...names.slice(place), ...names.slice(0, place)];
}

/** Names the destination, and with it the session that the task's calls belong to. */
export function directed(task: Task, { to, policy }: { to: string; policy: Policy }): Task {
  const { stopAfterResult } = destinationOf({ ...task, destination: to }, policy);
  const sessionId = sessionIdOf({ message: task.message, perTask: stopAfterResult ? task.id : undefined });
  return { ...task, destination: to, sessionId };
}

/** After each round through all of `targets` it waits longer. The task's time goes on as it began. */
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
}): Step {
  const [present = "", to = present] = targets;
  const moved = directed(task, { to, policy });
  const { params, sessionId, deadlineAtMs = nowMs } = moved;
  const timeoutMs = Math.max(1, deadlineAtMs - nowMs);
  const renewed = params && { params: { ...params, session_id: sessionId, timeout_ms: timeoutMs } };
  const rounds = Math.floor(task.attempts / targets.length);
  const isRoundOver = task.attempts % targets.length === 0;
  const delayMs = isRoundOver ? retryDelayMs(rounds, error.retryAfterMs) : 0;
  return { task: { ...moved, ...renewed }, effects: [wake(delayMs)] };
}
