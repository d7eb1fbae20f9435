/** Finds the ids in a queue message, for the log line when its handling fails. */
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import type { LogFields } from "@sekisho/runtime/log.ts";
import { parseTrace, readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";

/**
 * Works for the zone's own messages and for completion pushes. Returns no ids for an invalid message, and leaves out ids that are not
 * UUIDs.
 */
export function readQueuedIds(body: string): LogFields {
  const members = Object(parseJson(body)) as Record<string, unknown>;
  const { requestId, request_id = requestId, task_id, trace } = members;
  const { traceparent } = Object(trace) as { traceparent?: unknown };
  const parsedTrace = typeof traceparent === "string" ? parseTrace({ traceparent }) : undefined;
  return {
    request_id: uuid(request_id),
    task_id: uuid(task_id),
    trace_id: parsedTrace && readTraceId(parsedTrace),
  };
}

function uuid(id: unknown): string | undefined {
  return typeof id === "string" && uuidPattern.test(id) ? id : undefined;
}
