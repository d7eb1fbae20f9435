/** The transitions that several states share: a success, an outcome, an answer, a cancel. */
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import type { CallFailure, Delay, TaskEffect } from "./events.ts";
import { withoutParams } from "./routing.ts";
import { leftOutCountOf, type Task, type TaskOutcome } from "./task.ts";
import { tokensOf } from "./token-usage.ts";

export type Transition = { task: Task; effects: TaskEffect[] };

export function wake(delay: number | Delay): TaskEffect {
  return typeof delay === "number" ? { type: "wake", delayMs: delay } : { type: "wake", ...delay };
}

/** Applies `changes` after a success: resets the failures and removes the mark for reconciling. */
export function advance(task: Task, changes: Partial<Task>): Task {
  const { reconcile: _reconcile, ...settledTask } = resetFailures(task);
  return { ...settledTask, ...changes };
}

/** Ends a row of failures after a success. */
export function resetFailures(task: Task): Task {
  const { limitedReads: _limitedReads, ...readTask } = task;
  return { ...readTask, attempts: 0, nonTransientFailures: 0 };
}

/** Marks that a try may have posted something, so that the next one looks at the thread first. `advance` removes the mark. */
export function markForReconcile(task: Task): Task {
  return { ...task, reconcile: true };
}

/** The limit of a record as JSON. A DynamoDB item holds 400 KB including its keys. */
const maxRecordBytes = 390_000;

/**
 * Sets the outcome and drops the params. An answer that no record can hold becomes `payload_too_large`. `reconcile`: parts of an
 * outcome may be in the thread already. A message that was only received keeps its mark, because its thread may have been opened.
 */
export function setOutcome(
  task: Task,
  outcome: TaskOutcome,
  {
    reconcile = task.state === "received" && task.reconcile === true,
  }: { reconcile?: boolean } = {},
): Transition {
  const deliveringTask = advance(withoutParams(task), {
    state: "delivering",
    outcome,
    delivery: task.delivery ?? { status: "posting" },
  });
  const markedTask = reconcile ? markForReconcile(deliveringTask) : deliveringTask;
  const isTooLarge =
    outcome.type === "answer" && Buffer.byteLength(JSON.stringify(markedTask)) > maxRecordBytes;
  const fittingOutcome = isTooLarge
    ? failedOutcome({ reason: "payload_too_large", lost: false })
    : outcome;
  return { task: { ...markedTask, outcome: fittingOutcome }, effects: [wake(0)] };
}

export function setAnswer(
  task: Task,
  result: Extract<TaskResult, { status: "success" }>,
): Transition {
  const { response_text: text, artifacts = [], usage } = result;
  const tokens = tokensOf(usage);
  const leftOut = leftOutCountOf(result);
  return setOutcome(task, {
    type: "answer",
    text,
    ...(artifacts.length > 0 && { artifacts }),
    ...(leftOut > 0 && { leftOut }),
    ...(tokens && { tokens }),
  });
}

type Failed = Extract<TaskOutcome, { type: "failed" }>;

export function failedOutcome({
  reason,
  lost,
  explanation,
}: Pick<CallFailure, "reason" | "lost" | "explanation">): Failed {
  return { type: "failed", reason, lost, ...(explanation !== undefined && { explanation }) };
}

/** It is unknown what happened to the task at its destination. */
export const ambiguousOutcome = failedOutcome({ reason: "ambiguous", lost: false });

/** The deadline passed before any destination accepted the task. */
export const unavailableOutcome = failedOutcome({ reason: "unavailable", lost: false });

/** Sekisho's own code, or Slack, failed. */
export const internalOutcome = failedOutcome({ reason: "internal", lost: false });

/** Asks the host to cancel the task. The first reason stays. */
export function requestCancel(
  task: Task,
  cancelReason: NonNullable<Task["cancelReason"]>,
): Transition {
  return {
    task: advance(task, { cancelReason: task.cancelReason ?? cancelReason }),
    effects: [{ type: "cancel" }],
  };
}
