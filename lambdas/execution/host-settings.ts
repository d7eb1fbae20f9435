/** The settings that the host and its worker share: their defaults, and their values from the configuration. */
import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { resolveAskerSettings } from "@sekisho/config/execution-asker.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { computeMaxTaskMs, resolveMaxTaskMs } from "@sekisho/config/stage-config.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { noTelemetry, type Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type RunTimes, runDefaults } from "./tasks/execution-task.ts";

type Defaults = RunTimes & {
  /** The name of the main agent in metrics and logs. */
  agentName: string;
  /** The agents that tasks may choose by name. */
  agentNames: readonly string[];
  log: Log;
  telemetry: Telemetry;
  now: () => number;
  newId: () => string;
  random: () => number;
};

export function withDefaults<T extends Partial<Defaults>>(options: T): Defaults & T {
  const tools = { now: Date.now, newId: randomUUID, random: Math.random };
  const { leaseMs = runDefaults.leaseMs } = options;
  const defaults = {
    ...runDefaults,
    renewMs: leaseMs / 2,
    ...{ agentName: "agent", agentNames: [] },
    log: silentLog,
    telemetry: noTelemetry,
  };
  return { ...defaults, ...tools, ...options };
}

/**
 * On one machine and in a container, progress is stored and told soon, so that an answer can be read as it is written. On AWS each write
 * and each call is paid for.
 */
const promptTimes = { progressMs: 250, writingBudgetMs: 300, pollAfterMs: 500 };

/** Both platforms on AWS push what happens to a task, so a poll only has to find what a lost push did not tell. */
export const pushedTimes = { pushedPollAfterMs: 10_000 };

/** Absent on one machine and in a container. AgentCore ends a process `maxLifetimeMs` after its start. */
type Platform = { kind: "lambda" } | { kind: "agentcore"; maxLifetimeMs: number };

export function createHostSettings({
  execution,
  platform,
}: {
  execution: Config["execution"];
  platform?: Platform;
}) {
  const { dialects, limits } = execution;
  const maxTaskMs = resolveMaxTaskMs({
    config: { execution },
    ...(platform && { kind: platform.kind }),
  });
  const times = platform === undefined ? promptTimes : pushedTimes;
  const settings = { ...workerSettings({ execution }), ...times, dialects, limits, maxTaskMs };
  if (platform?.kind !== "agentcore") return settings;
  // AgentCore forwards only calls to its own path, and replaces the body of any status but 200.
  return {
    ...settings,
    dialects: {},
    hidesStatus: true,
    maxTaskMs: Math.min(maxTaskMs, computeMaxTaskMs(platform.maxLifetimeMs)),
  };
}

/** A worker needs the same times as the host that queues its tasks. */
export function workerSettings({ execution }: { execution: Config["execution"] }) {
  const { agent, agents, syncBudgetMs = defaultSyncBudgetMs, leaseMs, lostAfterMs } = execution;
  const names = { agentName: readAgentName(agent), agentNames: Object.keys(agents) };
  return { ...names, syncBudgetMs, leaseMs, lostAfterMs };
}

function readAgentName(agent: AgentConfig): string {
  return typeof agent === "string" ? basename(agent) : agent.type;
}

/** Opens the store only where the configuration verifies who asked. Throws a ConfigError if it trusts no zone. */
export function createAskerSettings<S>(options: {
  execution: Config["execution"];
  openUsedTokens: () => S;
}) {
  const { execution, openUsedTokens } = options;
  return execution.asker === undefined
    ? undefined
    : { settings: resolveAskerSettings(execution.asker), usedTokens: openUsedTokens() };
}
