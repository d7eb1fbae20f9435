/** The agents that are called over HTTP, in their own protocol. It imports no schema, because a bundle with such an agent needs none. */
import type { AgentConfig } from "./agent-schema.ts";
import type { AuthorizerConfig } from "./authorizer-schema.ts";

export type RemoteAgentConfig = Extract<AgentConfig, { authorizer?: unknown }>;

export function isRemote(agent: AgentConfig): agent is RemoteAgentConfig {
  return typeof agent !== "string" && (agent.type === "ag-ui" || agent.type === "http");
}

/** How calls of the agent are authorized: a runtime of AgentCore takes signatures of its region by default. */
export function resolveAgentAuthorizer(agent: RemoteAgentConfig): AuthorizerConfig {
  const { authorizer, runtimeArn } = agent;
  if (authorizer !== undefined) return authorizer;
  if (runtimeArn === undefined) return { type: "none" };
  const [, , , region = ""] = runtimeArn.split(":");
  return { type: "sigv4", service: "bedrock-agentcore", region };
}
