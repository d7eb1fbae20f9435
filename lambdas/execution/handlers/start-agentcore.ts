/** The Execution zone's entry on Bedrock AgentCore: the host behind node:http, with what the platform wants of a runtime. */
import { parseExecutionConfig } from "../../shared/config/load.ts";
import { createLog } from "../../shared/log.ts";
import { createXrayTarget } from "../../shared/telemetry/otlp-target.ts";
import { openProcessTelemetry } from "../../shared/telemetry/process-telemetry.ts";
import { agentDependencies, type CreateAgent } from "../agents/create-agent.ts";
import { openCompletionQueue, openTaskStore } from "../aws-engine.ts";
import { readAgentCoreEnvironment } from "../config/aws-environment.ts";
import { createHost } from "../host.ts";
import { createHostSettings } from "../host-settings.ts";
import { createPlatformAuthenticator } from "../http/exchange.ts";
import { startExecutionServer } from "../http/server.ts";

/** What running tasks get to end by themselves once the platform ends the runtime. */
const graceMs = 3000;

/**
 * `config` has the sections `execution` and `telemetry`, as JSON. Resolves when the server listens; rejects where it cannot, or where the
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
  const { execution, telemetry: telemetryConfig } = parseExecutionConfig({ json: config });
  const { table, completionsUrl, logs, aws, hostname, port, maxLifetimeMs } = readAgentCoreEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const dependencies = agentDependencies(aws);
  const { readSecret } = dependencies;
  const xray = createXrayTarget(aws);
  const telemetry = openProcessTelemetry({ config: telemetryConfig, service: "execution", readSecret, xray, log });
  const host = createHost({
    agent: createAgent({ ...dependencies, config: execution.agent }),
    store: openTaskStore({ table }),
    completions: openCompletionQueue({ queueUrl: completionsUrl }),
    authenticator: createPlatformAuthenticator(),
    ...createHostSettings({ execution, platform: { kind: "agentcore", maxLifetimeMs } }),
    // Since the start of the process, by a clock that nobody sets. It begins a little later than the platform's count.
    processLeftMs: () => maxLifetimeMs - performance.now(),
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
