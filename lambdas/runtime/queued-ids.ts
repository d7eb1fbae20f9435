/** Finds the task ids in a queue message, for the log line when its handling fails. */
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import type { LogFields } from "./log.ts";
import { parseTrace, readTraceId } from "./telemetry/telemetry.ts";
import { parseJson } from "./untrusted-input.ts";

/** Works for the queues of both zones. Returns no ids for an invalid message, and leaves out ids that are not UUIDs. */
export function readQueuedIds(body: string): LogFields {
  const members = Object(parseJson(body)) as Record<string, unknown>;
  const {
    requestId,
    request_id = requestId,
    taskId,
    task_id = taskId,
    push,
    look = push,
    trace,
  } = members;
  const { taskId: inside } = Object(look) as { taskId?: unknown };
  const { traceparent } = Object(trace) as { traceparent?: unknown };
  const known = typeof traceparent === "string" ? parseTrace({ traceparent }) : undefined;
  return {
    request_id: uuid(request_id),
    task_id: uuid(task_id ?? inside),
    trace_id: known && readTraceId(known),
  };
}

function uuid(id: unknown): string | undefined {
  return typeof id === "string" && uuidPattern.test(id) ? id : undefined;
}
