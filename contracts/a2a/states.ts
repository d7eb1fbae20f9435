/** The states of a task in A2A's words and in the zone contract's (contract.md, section "Task states"). */
import type { TaskState } from "../task.ts";
import type { A2aState } from "./task.ts";

const a2aStates: Record<TaskState, A2aState> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  input_required: "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  rejected: "TASK_STATE_REJECTED",
};

/** `kind` says what an `input_required` asks for: A2A has a state of its own for credentials. */
export function toA2aState({ state, kind }: { state: TaskState; kind?: "auth" | undefined }): A2aState {
  return state === "input_required" && kind === "auth" ? "TASK_STATE_AUTH_REQUIRED" : a2aStates[state];
}

export function fromA2aState(a2aState: A2aState): { state: TaskState; kind?: "auth" } {
  if (a2aState === "TASK_STATE_AUTH_REQUIRED") return { state: "input_required", kind: "auth" };
  const state = (Object.keys(a2aStates) as TaskState[]).find((name) => a2aStates[name] === a2aState);
  // Every other state of A2A is in the table; `submitted` keeps the type whole.
  return { state: state ?? "submitted" };
}
