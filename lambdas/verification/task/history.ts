/** The history of a task's states. */
import type { TaskEvent } from "./events.ts";
import type { Task } from "./task.ts";

/** Beyond this, only the first and the latest entries stay, so that a task that is redriven many times fits its record. */
const maxEntries = 40;

const recordedEvents: readonly TaskEvent["type"][] = [
  "cancel_asked",
  "message_edited",
  "message_deleted",
  "redriven",
  "dead_lettered",
  "step_failed",
];

/** Adds an entry to the history for each change of the state, and for each event of `recordedEvents`. */
export function withHistory(step: {
  previousTask: Task;
  task: Task;
  event: TaskEvent;
  atMs: number;
}): Task {
  const { previousTask, task, event, atMs } = step;
  if (task.state === previousTask.state && !recordedEvents.includes(event.type)) return task;
  const history = [...task.history, { atMs, event: event.type, state: task.state }];
  return {
    ...task,
    history: history.length > maxEntries ? [...history.slice(0, 1), ...history.slice(2)] : history,
  };
}

/** Returns when the task last entered `delivering`, or undefined before that. */
export function concludedAtMs({ history }: Pick<Task, "history">): number | undefined {
  const lastIndex = history.findLastIndex(({ state }) => state === "delivering");
  const earlierIndex = history
    .slice(0, lastIndex + 1)
    .findLastIndex(({ state }) => state !== "delivering");
  return lastIndex === -1 ? undefined : history[earlierIndex + 1]?.atMs;
}
