/** The agents of an Execution zone, each once. It imports no schema, because the bundles need none. */
import type { AgentConfig } from "./agent-schema.ts";

/** The two keys of the section `execution`: its main agent, and those by name. */
export type Agents = { agent: AgentConfig; agents: Readonly<Record<string, AgentConfig>> };

/** The name of the main agent. Undefined if it is none of those by name. */
export function findMainName({ agent, agents }: Agents): string | undefined {
  // Both were made by one schema, or read from one file, so equal ones have one text.
  return Object.keys(agents).find((name) => JSON.stringify(agents[name]) === JSON.stringify(agent));
}

/** The main agent comes first, without a name, unless it is one of those by name. */
export function listAgents(section: Agents): { name?: string; agent: AgentConfig }[] {
  const named = Object.entries(section.agents).map(([name, agent]) => ({ name, agent }));
  return findMainName(section) === undefined ? [{ agent: section.agent }, ...named] : named;
}

type BuiltInType = Exclude<AgentConfig, string>["type"];

const isKeeping: Readonly<Record<BuiltInType, boolean>> = {
  ...{ "openai-compatible": false, bedrock: false },
  ...{ responses: true, "ag-ui": true, http: true, harness: true },
};

/** True if one of the agents may keep something of a conversation. An agent file may. */
export function keepsConversations(section: Agents): boolean {
  return listAgents(section).some(({ agent }) =>
    typeof agent === "string" ? agent !== "echo" : isKeeping[agent.type],
  );
}

/** The path of the agent in the configuration. */
export function toAgentPath(name: string | undefined): string[] {
  return ["execution", ...(name === undefined ? ["agent"] : ["agents", name])];
}
