/** How much of a task fits into one record; pure. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { ExecutionTask } from "./execution-task.ts";

/** An item of DynamoDB holds 400 KB (409,600 bytes); the record's indexes, a lease and some numbers come on top. */
const maxRecordBytes = 400_000;

export function fits(task: ExecutionTask): boolean {
  return Buffer.byteLength(JSON.stringify(task)) <= maxRecordBytes;
}

/** The same record. Throws `payload_too_large` where none holds it. */
export function checkSize(task: ExecutionTask): ExecutionTask {
  if (fits(task)) return task;
  throw new SekishoError("payload_too_large", { details: { task_id: task.id } });
}
