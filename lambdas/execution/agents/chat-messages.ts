/** The messages of a chat completion for a task: the system prompt, the thread so far, what is asked now. */
import type { AgentTask } from "./agent.ts";

export type ChatMessage = { role: "system" | "user" | "assistant"; content: string };

export function messagesOf({ task, system }: { task: AgentTask; system?: string | undefined }): ChatMessage[] {
  const earlier = (task.history ?? []).map(({ role, text }) => ({ role, content: text }));
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    ...earlier,
    { role: "user", content: [task.text, ...dataOf(task)].filter((text) => text !== "").join("\n") },
  ];
}

/** Data parts, as JSON: a model reads nothing else of them. */
function dataOf({ parts }: AgentTask): string[] {
  return parts.flatMap(({ data }) => (data === undefined ? [] : [JSON.stringify(data)]));
}
