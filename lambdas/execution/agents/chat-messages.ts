/** The thread and the message as a model reads them: roles and texts. */
import type { AgentTask } from "./agent.ts";

export type ChatMessage = { role: "system" | "user" | "assistant"; content: string };

export function listEarlierMessages({ history = [] }: Pick<AgentTask, "history">): ChatMessage[] {
  return history.map(({ role, text }) => ({ role, content: text }));
}

/** The message, and data parts as JSON, because a message of a model holds text only. */
export function readUserText({ text, parts }: AgentTask): string {
  const dataTexts = parts.flatMap(({ data }) => (data === undefined ? [] : [JSON.stringify(data)]));
  return [text, ...dataTexts].filter((each) => each !== "").join("\n");
}
