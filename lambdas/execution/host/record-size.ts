/** How much of a task fits into one record, and what gives way where it is more; pure. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Change } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";

/** An item of DynamoDB holds 400 KB (409,600 bytes); what its indexes repeat, a lease and some numbers come on top. */
const maxRecordBytes = 400_000;

/** The same record. Throws `payload_too_large` where none holds it. */
export function checkSize(task: ExecutionTask): ExecutionTask {
  if (fits(task)) return task;
  throw new SekishoError("payload_too_large", { details: { task_id: task.id } });
}

/** The first of these changes whose record fits, or the last one. */
export function firstThatFits(changes: readonly Change[]): Change {
  return (task) => {
    let next: ExecutionTask | undefined;
    for (const change of changes) {
      next = change(task);
      if (next === undefined || fits(next)) return next;
    }
    return next;
  };
}

/** The same change, and of what was said in the task nothing. */
export function withoutHistory(change: Change): Change {
  return (task) => {
    const next = change(task);
    return next?.a2a === undefined ? next : { ...next, a2a: { ...next.a2a, messages: [] } };
  };
}

function fits(task: ExecutionTask): boolean {
  return Buffer.byteLength(JSON.stringify(task)) <= maxRecordBytes;
}
