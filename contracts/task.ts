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
export function mayFollow({ from, to }: { from: TaskState; to: TaskState }): boolean {
  return followers[from].includes(to);
}

/** What a forbidden transition is refused with, in every protocol: where the task stands, and where it was to go. */
export function transitionRefused({
  taskId,
  from,
  to,
}: {
  taskId: string;
  from: TaskState;
  to: TaskState;
}): SekishoError {
  return new SekishoError("invalid_state", { details: { task_id: taskId, current: from, target: to } });
}

export function isTerminal(state: TaskState): boolean {
  return followers[state].length === 0;
}
