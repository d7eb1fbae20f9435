/** The size of a task's record: what does not fit is refused, or a smaller change is made. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import type { TaskChange } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";

/** Below DynamoDB's limit of 400 KB per item, because index keys and a lease are added. */
const maxRecordBytes = 400_000;

/** Returns the task, or throws `payload_too_large` if a record cannot hold it. */
export function checkSize(task: ExecutionTask): ExecutionTask {
  if (isFitting(task)) return task;
  throw new SekishoError("payload_too_large", { details: { task_id: task.id } });
}

/** Tries the changes in order and makes the first whose record fits, or else the last one. */
export function createFittingChange(changes: readonly TaskChange[]): TaskChange {
  return (task) => {
    let nextTask: ExecutionTask | undefined;
    for (const change of changes) {
      nextTask = change(task);
      if (nextTask === undefined || isFitting(nextTask)) return nextTask;
    }
    return nextTask;
  };
}

/** The same change without the task's A2A messages. */
export function dropHistory(change: TaskChange): TaskChange {
  return (task) => {
    const nextTask = change(task);
    return nextTask?.a2a === undefined
      ? nextTask
      : { ...nextTask, a2a: { ...nextTask.a2a, messages: [] } };
  };
}

function isFitting(task: ExecutionTask): boolean {
  return isJsonWithin({ value: task, maxBytes: maxRecordBytes });
}
