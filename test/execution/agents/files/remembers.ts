/** An agent file whose agent keeps the text of the task before. */
import type { Agent } from "@sekisho/execution/agent.ts";

export const agent: Agent = async ({ text }, { conversation }) => {
  const earlierText = await conversation.read();
  await conversation.write(text);
  return `before: ${earlierText}`;
};
