/** Which ids of a task and of a request a log line carries. */
import { uuidPattern } from "../../../contracts/envelope.ts";
import type { LogFields } from "../../shared/log.ts";
import { traceIdOf } from "../../shared/trace.ts";
import type { ExecutionTask } from "./execution-task.ts";

/** With the operation that began the task. */
export function loggedIds({ id, requestId, trace, a2a }: ExecutionTask): LogFields {
  const operation = a2a === undefined ? "execute_task" : "SendMessage";
  return { task_id: id, request_id: loggedId(requestId), trace_id: traceIdOf(trace), operation };
}

/** An id that is no UUID is whatever a caller liked to send: it stays out of the log. */
export function loggedId(id: unknown): string | undefined {
  return typeof id === "string" && uuidPattern.test(id.toLowerCase()) ? id : undefined;
}
