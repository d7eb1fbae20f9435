/** The states of a task in the Execution zone, and which may follow which. */
import * as z from "zod";
import { SekishoError } from "./errors.ts";

export const taskStateSchema = z.enum([
  "submitted",
  "working",
  "input_required",
  "completed",
  "failed",
  "canceled",
  "rejected",
]);
export type TaskState = z.infer<typeof taskStateSchema>;

const followers: Record<TaskState, readonly TaskState[]> = {
  submitted: ["working", "rejected", "failed", "canceled"],
  working: ["input_required", "completed", "failed", "canceled", "rejected"],
  input_required: ["working", "completed", "failed", "canceled", "rejected"],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

/** Whether a task in state `from` may go to `to`. Terminal states never change. */
export function canTransition({ from, to }: { from: TaskState; to: TaskState }): boolean {
  return followers[from].includes(to);
}

/** The details of a refused transition, in every protocol: the task's state, and the state that was asked for. */
export function transitionError({
  taskId,
  correlationId,
  from,
  to,
}: {
  taskId: string;
  /** Of the request that began the task, where that is known. */
  correlationId?: string;
  from: TaskState;
  to: TaskState;
}): SekishoError {
  const details = {
    task_id: taskId,
    ...(correlationId && { correlation_id: correlationId }),
    current: from,
    target: to,
  };
  return new SekishoError("invalid_state", { details });
}

export function isTerminal(state: TaskState): boolean {
  return followers[state].length === 0;
}
