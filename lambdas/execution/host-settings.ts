/** The settings of the host and of its worker, from the configuration: the same in every entry. */
import { basename } from "node:path";
import type { AgentConfig, Config } from "../shared/config/schema.ts";
import { longestTaskMs, resolveMaxTaskMs } from "../shared/config/stage-config.ts";

/** Absent on one machine and in a container. AgentCore ends a process `maxLifetimeMs` after its start. */
type Platform = { kind: "lambda" } | { kind: "agentcore"; maxLifetimeMs: number };

export function createHostSettings({ execution, platform }: { execution: Config["execution"]; platform?: Platform }) {
  const { dialects, limits } = execution;
  const maxTaskMs = resolveMaxTaskMs({ config: { execution }, ...(platform && { kind: platform.kind }) });
  const settings = { ...workerSettings({ execution }), dialects, limits, maxTaskMs };
  if (platform?.kind !== "agentcore") return settings;
  // AgentCore passes on no other path than its own.
  return { ...settings, dialects: {}, maxTaskMs: Math.min(maxTaskMs, longestTaskMs(platform.maxLifetimeMs)) };
}

/** A worker must have the same times as the host that queues its tasks. */
export function workerSettings({ execution }: { execution: Config["execution"] }) {
  const { agent, syncBudgetMs, leaseMs, lostAfterMs } = execution;
  return { agentName: readAgentName(agent), syncBudgetMs, leaseMs, lostAfterMs };
}

/** The agent's name in log lines. */
function readAgentName(agent: AgentConfig): string {
  return typeof agent === "string" ? basename(agent) : agent.type;
}
