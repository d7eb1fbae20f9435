/** The span of one step, by OpenTelemetry's conventions for messaging. */
import type { SpanStart } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { TaskEvent } from "../task/events.ts";
import type { Task } from "../task/task.ts";

/** The queue's kind as in OpenTelemetry's semantic conventions (`messaging.system`). */
export type QueueSystem = "aws_sqs" | "sqlite";

export function createStepSpan(
  task: Task,
  event: TaskEvent,
  system: QueueSystem | undefined,
): SpanStart {
  return {
    name: "process tasks",
    kind: "consumer",
    trace: task.trace,
    attributes: {
      "messaging.system": system,
      "messaging.destination.name": "tasks",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.message.conversation_id": task.id,
      "sekisho.request_id": task.id,
      "sekisho.event": event.type,
      "sekisho.state": task.state,
    },
  };
}
