/** A task as the messages of Converse, which must begin with the user, take turns, and hold no blank text. */
import type { AgentTask } from "./agent.ts";

export type ConverseMessage = { role: "user" | "assistant"; content: { text: string }[] };

/** Stands where the thread begins with the assistant, as it does below a report that nobody had asked for. */
const opening = "(The conversation begins with a message of yours.)";

/** Undefined where nothing is asked in words. */
export function converseMessagesOf({ text, history = [] }: AgentTask): ConverseMessage[] | undefined {
  if (text.trim() === "") return undefined;
  const messages: ConverseMessage[] = [];
  for (const said of [...history, { role: "user" as const, text }]) {
    if (said.text.trim() === "") continue;
    if (messages.length === 0 && said.role === "assistant")
      messages.push({ role: "user", content: [{ text: opening }] });
    const last = messages.at(-1);
    if (last?.role === said.role) last.content.push({ text: said.text });
    else messages.push({ role: said.role, content: [{ text: said.text }] });
  }
  return messages;
}
