/** Finds the messages of a thread that an agent lacks although it keeps the conversation: another agent or nobody answered them. */
import type { AgentTask } from "./agent.ts";

type History = NonNullable<AgentTask["history"]>;

/** Before the first message of a thread. */
const threadStart = "0";

/**
 * The timestamp of the latest message that a task brings beside its own, to be kept with the conversation. Undefined if it cannot tell what the
 * agent saw: the messages of other callers have no timestamps, and questions with their replies stand in the thread as well.
 */
export function readSeenTs({ history = [], answers }: AgentTask): string | undefined {
  if (answers.length > 0) return undefined;
  return history.length === 0 ? threadStart : history.at(-1)?.ts;
}

/** The messages after `seenTs`, less the one that the agent got then, and its answer, which may have several messages. */
export function listUnseenMessages({ history = [] }: AgentTask, seenTs: string): History {
  const laterMessages = history.filter(({ ts }) => ts !== undefined && Number(ts) > Number(seenTs));
  const ownMessage = laterMessages.find(({ role }) => role === "user");
  const messages = laterMessages.filter((message) => message !== ownMessage);
  const start = messages.findIndex(({ role }) => role === "assistant");
  if (start === -1) return messages;
  const length = messages.slice(start).findIndex(({ role }) => role !== "assistant");
  return messages.toSpliced(start, length === -1 ? messages.length : length);
}
