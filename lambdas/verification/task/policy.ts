/** What the task machine must know of the configuration. */
import type { Task } from "./task.ts";

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

/** A destination that the configuration no longer names is treated as one that cannot be asked twice. */
export function destinationOf(task: Task, policy: Policy): DestinationPolicy {
  const known = task.destination === undefined ? undefined : policy.destinations.get(task.destination);
  return known ?? { deadlineMs: 0, idempotent: false, stopAfterResult: false };
}
