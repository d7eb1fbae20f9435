/** The spans of a task in this zone: each step of it, its delivery, and the whole, by the semantic conventions of messaging. */
import type { SpanStart, Spans } from "../../shared/telemetry/spans.ts";
import type { TaskEvent } from "../task/events.ts";
import type { Task } from "../task/task.ts";
import { outcomeLabels } from "./outcome-labels.ts";

/** What the queue is, as the conventions name it. */
export type QueueSystem = "aws_sqs" | "sqlite";

export function stepSpan(request: { task: Task; event: TaskEvent; system: QueueSystem | undefined }): SpanStart {
  const { task, event, system } = request;
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

export function deliverySpan({ id, trace }: Task): SpanStart {
  return { name: "deliver answer", kind: "internal", trace, attributes: { "sekisho.request_id": id } };
}

/**
 * A task is over when its answer stands in the thread; what is swept or delivered once more later lies below all the same.
 * Whoever dies between the record and this tells it never: a root that is missing is better than two.
 */
export function tellWhole({ spans, before, task }: { spans: Spans; before: Task; task: Task }): void {
  const { id, outcome, destination, receivedAtMs, trace, history } = task;
  const isDone = ({ state }: { state: string }) => state === "done";
  const end = history.find(isDone);
  if (end === undefined || before.history.some(isDone)) return;
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
      "sekisho.task_id": task.taskId,
      "sekisho.destination": destination,
      "sekisho.outcome": labels.outcome,
      "sekisho.reason": labels.reason,
      "sekisho.polls": task.polls,
    },
  });
}
