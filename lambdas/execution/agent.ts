/** The entry `./agent`: what an agent file imports. */
import type { Agent } from "./agents/agent.ts";

export type { Artifact, QuestionOption, TaskStep } from "@sekisho/contracts/methods.ts";
export type {
  Agent,
  AgentAnswer,
  AgentContext,
  AgentConversation,
  AgentTask,
  ReadAttachment,
  TaskUpdate,
  VerifiedAsker,
} from "./agents/agent.ts";

/** Returns the agent as it is. An editor then knows its parameters and what it may yield, in JavaScript too. */
export function defineAgent(agent: Agent): Agent {
  return agent;
}
