/** The spans of a task, of its steps and of its delivery, by OpenTelemetry's conventions for messaging. */
import type { SpanStart, Spans } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { TaskEvent } from "../../task/events.ts";
import type { Task } from "../../task/task.ts";
import { outcomeLabels } from "./metrics.ts";

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

export function createDeliverySpan({ id, trace }: Task): SpanStart {
  return {
    name: "deliver answer",
    kind: "internal",
    trace,
    attributes: { "sekisho.request_id": id },
  };
}

/**
 * Records the root span of the task once its answer is in the thread. Later steps have spans in the same trace. If a worker dies between
 * the save and this call, the root span is missing, which is better than two.
 */
export function recordTaskSpan({
  spans,
  previousTask,
  task,
}: {
  spans: Spans;
  previousTask: Task;
  task: Task;
}): void {
  const { id, outcome, call, wait, receivedAtMs, trace, history } = task;
  const isDone = ({ state }: { state: string }) => state === "done";
  const end = history.find(isDone);
  if (end === undefined || previousTask.history.some(isDone)) return;
  const labels = outcomeLabels(outcome);
  const failed = labels.outcome === "failed" ? labels.reason : undefined;
  spans.root({
    name: "sekisho.task",
    kind: "internal",
    trace,
    startMs: receivedAtMs,
    endMs: Math.max(end.atMs, receivedAtMs),
    failed,
    attributes: {
      "sekisho.request_id": id,
      "sekisho.task_id": call?.taskId,
      "sekisho.destination": call?.destination,
      "sekisho.outcome": labels.outcome,
      "sekisho.reason": labels.reason,
      "sekisho.polls": wait?.polls ?? 0,
    },
  });
}
