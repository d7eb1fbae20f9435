/** Records of a task over A2A, in every state, for what is made of them. */
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";

export const taskId = "6f1d4a3e-7b52-8c1f-9a55-2a6d3c0f7e11";

export function recordOf(more: Partial<ExecutionTask> = {}): ExecutionTask {
  return {
    id: taskId,
    revision: 1,
    state: "working",
    principal: "p",
    requestId: "message-1",
    correlationId: "message-1",
    fingerprint: "f",
    trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    createdAtMs: 1_762_750_300_000,
    changedAtMs: 1_762_750_300_500,
    listedAtMs: 1_762_750_300_500,
    deadlineAtMs: 1_762_750_400_000,
    expiresAtMs: 1_762_850_400_000,
    a2a: {
      contextId: "context-1",
      messages: [1, 2, 3].map((count) => ({
        messageId: `message-${count}`,
        role: "ROLE_USER",
        parts: [{ text: `${count}` }],
      })),
    },
    ...more,
  };
}
