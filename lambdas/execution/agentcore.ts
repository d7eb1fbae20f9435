/** The Execution zone's entry on Bedrock AgentCore: the host behind node:http, with what the platform wants of a runtime. */
import { parseConfig } from "../shared/config/load.ts";
import { maxTaskMsOf } from "../shared/config/stage-config.ts";
import { createLog } from "../shared/log.ts";
import { openProcessTelemetry } from "../shared/telemetry/process-telemetry.ts";
import { xrayTarget } from "../shared/telemetry/xray-target.ts";
import { agentNameOf } from "./agents/agent-name.ts";
import { agentSurroundings, type CreateAgent } from "./agents/create-agent.ts";
import { openCompletions, openTaskStore } from "./aws-engine.ts";
import { readAgentCoreEnvironment } from "./config/aws-environment.ts";
import { platformAuthenticator } from "./host/authenticator/platform.ts";
import { createHost } from "./host/host.ts";
import { startExecutionServer } from "./server.ts";

/** What running tasks get to end by themselves once the platform ends the runtime. */
const graceMs = 3000;

/**
 * `config` is the stage's configuration as JSON. Resolves when the server listens; rejects where it cannot, or where the
 * configuration or the environment cannot be used. On SIGTERM tasks are stopped, stored as lost, and the process ends.
 *
 * The platform lets nobody through whom the runtime's policies do not name, and does not say who it is: all callers are one.
 */
export async function startAgentCore({
  config,
  createAgent,
}: {
  config: unknown;
  createAgent: CreateAgent;
}): Promise<void> {
  const { execution, telemetry: telemetryConfig } = parseConfig({ json: config });
  const { table, completionsUrl, logs, aws, hostname, port } = readAgentCoreEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const surroundings = agentSurroundings(aws);
  const { readSecret } = surroundings;
  const xray = xrayTarget(aws);
  const telemetry = openProcessTelemetry({ config: telemetryConfig, service: "execution", readSecret, xray, log });
  const host = createHost({
    agent: createAgent(surroundings),
    agentName: agentNameOf(execution.agent),
    store: openTaskStore({ table }),
    completions: openCompletions({ queueUrl: completionsUrl }),
    authenticator: platformAuthenticator(),
    syncBudgetMs: execution.syncBudgetMs,
    maxTaskMs: maxTaskMsOf({ config: { execution }, kind: "agentcore" }),
    leaseMs: execution.leaseMs,
    lostAfterMs: execution.lostAfterMs,
    log,
    telemetry,
  });
  const server = await startExecutionServer({ host, hostname, port, platformPrincipal: "agentcore", log });
  log.info("server_listens", { address: server.url });
  process.once("SIGTERM", async () => {
    await host.stop({ graceMs });
    await server.close();
    await telemetry.close();
    process.exit();
  });
}
