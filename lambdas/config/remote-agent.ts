/** The agents that are called over HTTP, in their own protocol. It imports no schema, because a bundle with such an agent needs none. */
import type { AgentConfig } from "./agent-schema.ts";
import type { AuthorizerConfig } from "./authorizer-schema.ts";

export type RemoteAgentConfig = Extract<AgentConfig, { authorizer?: unknown }>;

/** The keys that tell where such an agent is and how to call it. None has all of them. */
export type RemoteTarget = {
  url?: string | undefined;
  baseUrl?: string | undefined;
  runtimeArn?: string | undefined;
  harnessArn?: string | undefined;
  qualifier?: string | undefined;
  authorizer?: AuthorizerConfig | undefined;
  idleTimeoutMs?: number | undefined;
};

const remoteTypes: readonly string[] = ["ag-ui", "http", "responses", "harness"];

export function isRemote(agent: AgentConfig): agent is RemoteAgentConfig {
  return typeof agent !== "string" && remoteTypes.includes(agent.type);
}

/** The address of the agent, and the key that has it. Undefined for one of AgentCore. */
export function readAgentAddress({
  url,
  baseUrl,
}: RemoteTarget): { field: "url" | "baseUrl"; address: string } | undefined {
  if (baseUrl !== undefined) return { field: "baseUrl", address: baseUrl };
  return url === undefined ? undefined : { field: "url", address: url };
}

/** The ARN of a runtime or a harness of AgentCore. */
export function readAgentArn({ runtimeArn, harnessArn }: RemoteTarget): string | undefined {
  return runtimeArn ?? harnessArn;
}

/** How calls of the agent are authorized: AgentCore takes signatures of its region by default. */
export function resolveAgentAuthorizer(agent: RemoteTarget): AuthorizerConfig {
  const { authorizer } = agent;
  const arn = readAgentArn(agent);
  if (authorizer !== undefined) return authorizer;
  if (arn === undefined) return { type: "none" };
  const [, , , region = ""] = arn.split(":");
  return { type: "sigv4", service: "bedrock-agentcore", region };
}
