/** The messages of a thread as Converse and InvokeHarness take them. */
import type { AgentTask } from "./agent.ts";

export type ConverseMessage = { role: "user" | "assistant"; content: { text: string }[] };

/** Bedrock requires that the user speaks first, but a thread may begin with a message of the bot. */
const openingText = "(The conversation begins with a message of yours.)";

/** Undefined for a task without text. */
export function toConverseMessages({
  text,
  history = [],
}: AgentTask): ConverseMessage[] | undefined {
  if (text.trim() === "") return undefined;
  const messages: ConverseMessage[] = [];
  for (const turn of [...history, { role: "user" as const, text }]) {
    if (turn.text.trim() === "") continue;
    if (messages.length === 0 && turn.role === "assistant")
      messages.push({ role: "user", content: [{ text: openingText }] });
    const lastMessage = messages.at(-1);
    if (lastMessage?.role === turn.role) lastMessage.content.push({ text: turn.text });
    else messages.push({ role: turn.role, content: [{ text: turn.text }] });
  }
  return messages;
}
