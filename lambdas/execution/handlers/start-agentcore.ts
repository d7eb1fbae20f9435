/** Runs the Execution zone on Bedrock AgentCore: the host behind node:http, as the platform expects it. */
import { parseExecutionSections } from "../../shared/config/execution-schema.ts";
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

/** How long running tasks may continue after SIGTERM. */
const graceMs = 3000;

/**
 * `config` is JSON with the sections `execution` and `telemetry`. Resolves when the server listens; rejects if it cannot, or if the
 * configuration or the environment is invalid. On SIGTERM, tasks are stopped and stored as lost, and the process ends.
 *
 * The runtime's policies decide who may call. The platform does not say who calls, so all callers have one principal.
 */
export async function startAgentCore(options: { config: unknown; createAgent: CreateAgent }): Promise<void> {
  const { config, createAgent } = options;
  const { execution, telemetry: telemetryConfig } = parseExecutionSections(config);
  const { table, completionsUrl, logs, aws, hostname, port, maxLifetimeMs } = readAgentCoreEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const dependencies = agentDependencies(aws);
  const { readSecret } = dependencies;
  const xray = createXrayTarget(aws);
  const telemetry = openProcessTelemetry({ config: telemetryConfig, service: "execution", readSecret, xray, log });
  const host = createHost({
    agent: createAgent({ ...dependencies, config: execution.agent }),
    store: openTaskStore({ table, aws }),
    completions: openCompletionQueue({ queueUrl: completionsUrl, aws }),
    authenticator: createPlatformAuthenticator(),
    ...createHostSettings({ execution, platform: { kind: "agentcore", maxLifetimeMs } }),
    // A monotonic clock, which starts a little later than the platform's own count.
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
