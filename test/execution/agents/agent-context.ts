/** What the host gives an agent beside its task. */
import type {
  AgentContext,
  AgentConversation,
  AgentTask,
} from "@sekisho/execution/agents/agent.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";

export function agentContext(
  signal = new AbortController().signal,
  log: Log = silentLog,
): AgentContext {
  const requestId = "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11";
  const readAttachment = async () => new Uint8Array();
  const ids = { requestId, messageId: requestId, taskId: "t", contextId: undefined, caller: "c" };
  const conversation = memoryConversation();
  return { ...ids, signal, readAttachment, conversation, trace: createTrace(), log };
}

/** Keeps a value as JSON, as the host does. `writes` has each value that was written. */
export function memoryConversation(
  value?: unknown,
): AgentConversation & { writes: unknown[]; reads(): number } {
  const writes: unknown[] = [];
  let text = JSON.stringify(value);
  let readCount = 0;
  return {
    writes,
    reads: () => readCount,
    async read() {
      readCount += 1;
      return text === undefined ? undefined : JSON.parse(text);
    },
    async write(newValue) {
      text = JSON.stringify(newValue);
      writes.push(newValue);
    },
  };
}

export function agentTask(
  task: Omit<AgentTask, "parts" | "answers"> & Partial<AgentTask>,
): AgentTask {
  return { parts: [{ text: task.text }], answers: [], ...task };
}
