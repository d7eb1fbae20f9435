/** One task as both zones store it. */

import { deriveTaskId, type ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { sampleCall, sampleTask } from "../../verification/task/sample.ts";

export const secretText = "a text that nobody but the thread may read";
export const requestId = sampleTask().id;
const taskId = deriveTaskId({ principal: "anyone", requestId }) ?? "";

/** As it stands when the answer is in the thread. */
export function knownTask({ startMs, ...changes }: Partial<Task> & { startMs: number }): Task {
  const history = [
    { atMs: startMs, event: "asked", state: "received" },
    { atMs: startMs + 100, event: "announced", state: "announced" },
    { atMs: startMs + 150, event: "woken", state: "sent" },
    { atMs: startMs + 2150, event: "answered", state: "delivering" },
    { atMs: startMs + 2300, event: "delivered", state: "done" },
  ] as const;
  const task = sampleTask({
    receivedAtMs: startMs,
    state: "done",
    call: sampleCall(),
    history: [...history],
  });
  return {
    ...task,
    message: { ...task.message, text: secretText },
    expiresAtMs: startMs + 3600_000,
    ...changes,
  };
}

export function knownExecution({
  startMs,
  ...changes
}: Partial<ExecutionTask> & { startMs: number }): ExecutionTask {
  return {
    id: taskId,
    revision: 3,
    state: "completed",
    principal: "anyone",
    requestId,
    correlationId: requestId,
    fingerprint: "f",
    trace: sampleTask().trace,
    createdAtMs: startMs + 170,
    changedAtMs: startMs + 2130,
    deadlineAtMs: startMs + 60_000,
    expiresAtMs: startMs + 3600_000,
    params: { channel: "C1", text: secretText },
    outcome: { type: "success", text: secretText },
    ...changes,
  };
}
