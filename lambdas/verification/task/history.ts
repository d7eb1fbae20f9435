/** What a task's record tells of its way: each change of its state, and each wish of a person. Pure. */
import type { TaskEvent } from "./events.ts";
import type { Task } from "./task.ts";

/** A task that is redriven for ever would outgrow its record: the beginning and the latest stay. */
const maxEntries = 40;
const told: readonly TaskEvent["type"][] = ["cancel_asked", "redriven", "dead_lettered", "step_failed"];

export function withHistory({
  before,
  after,
  event,
  atMs,
}: {
  before: Task;
  after: Task;
  event: TaskEvent;
  atMs: number;
}): Task {
  if (after.state === before.state && !told.includes(event.type)) return after;
  const history = [...after.history, { atMs, event: event.type, state: after.state }];
  return { ...after, history: history.length > maxEntries ? [...history.slice(0, 1), ...history.slice(2)] : history };
}

/** When the outcome was known that is, or was last, on its way into the thread. */
export function concludedAtMs({ history }: Pick<Task, "history">): number | undefined {
  const last = history.findLastIndex(({ state }) => state === "delivering");
  const before = history.slice(0, last + 1).findLastIndex(({ state }) => state !== "delivering");
  return last === -1 ? undefined : history[before + 1]?.atMs;
}
