/** What log lines call the configured agent. */
import { basename } from "node:path";
import type { AgentConfig } from "../../shared/config/schema.ts";

export function agentNameOf(agent: AgentConfig): string {
  return typeof agent === "string" ? basename(agent) : agent.type;
}
