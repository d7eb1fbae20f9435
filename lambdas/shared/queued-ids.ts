/** Which task a queue message is about, for the log lines of one that fails before anybody has understood it. */
import { uuidPattern } from "../../contracts/envelope.ts";
import type { LogFields } from "./log.ts";
import { parseTrace, readTraceId } from "./telemetry/telemetry.ts";

/** Of the messages of either zone's queues; nothing of what is none. An id that is no UUID stays out of the log. */
export function readQueuedIds(body: string): LogFields {
  const { requestId, request_id = requestId, taskId, task_id = taskId, push, look = push, trace } = readMembers(body);
  const { taskId: inside } = Object(look) as { taskId?: unknown };
  const { traceparent } = Object(trace) as { traceparent?: unknown };
  const known = typeof traceparent === "string" ? parseTrace({ traceparent }) : undefined;
  return { request_id: uuid(request_id), task_id: uuid(task_id ?? inside), trace_id: known && readTraceId(known) };
}

function readMembers(body: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(body)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function uuid(id: unknown): string | undefined {
  return typeof id === "string" && uuidPattern.test(id) ? id : undefined;
}
