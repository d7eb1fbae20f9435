/** Runs the Execution zone on Bedrock AgentCore: the host behind node:http, as the platform expects it. */
import type { ExecutionSections } from "@sekisho/config/execution-schema.ts";
import { openProcessTelemetry } from "@sekisho/config/telemetry/process-telemetry.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createXrayTarget } from "@sekisho/runtime/telemetry/otlp-target.ts";
import { createId } from "@sekisho/runtime/unique-id.ts";
import type { createA2aAgent as CreateA2aAgent } from "../a2a/a2a-agent.ts";
import { agentDependencies, type CreateAgent, createAgents } from "../agents/create-agent.ts";
import { type Authenticator, createPlatformAuthenticator } from "../authenticator/authenticator.ts";
import {
  openCompletionQueue,
  openConversations,
  openTaskStore,
  openUsedTokens,
} from "../aws-engine.ts";
import { readAgentCoreEnvironment } from "../config/aws-environment.ts";
import { createHost } from "../host.ts";
import { createAskerSettings, createHostSettings } from "../host-settings.ts";
import { startExecutionServer } from "../http/server.ts";
import { handleUncaughtErrors, runAsAgent } from "../runs/uncaught-errors.ts";

/** How long running tasks may continue after SIGTERM. */
const graceMs = 3000;

/**
 * Resolves when the server listens; rejects if it cannot, or if the environment is invalid. On SIGTERM, tasks are stopped and stored as lost, and the process ends.
 *
 * The runtime's policies decide who may call. The platform does not say who calls, so all callers have one principal, and none may list tasks.
 * With `createA2aAgent`, the host serves A2A beside the contract, as a runtime of the protocol A2A does.
 */
export async function startAgentCore(options: {
  config: ExecutionSections;
  createAgent: CreateAgent;
  createA2aAgent?: typeof CreateA2aAgent;
}): Promise<void> {
  const { config, createAgent, createA2aAgent } = options;
  const { execution, telemetry: telemetryConfig } = config;
  const { table, completionsUrl, logs, aws, hostname, port, maxLifetimeMs, runtimeUrl } =
    readAgentCoreEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const dependencies = agentDependencies(aws);
  const { readSecret } = dependencies;
  const xray = createXrayTarget(aws);
  const telemetry = openProcessTelemetry({
    config: telemetryConfig,
    service: "execution",
    readSecret,
    xray,
    log,
  });
  const life = createSessionLife({ maxLifetimeMs, authenticator: createPlatformAuthenticator() });
  // The platform authenticates the callers. The configured authenticator is for other platforms.
  const a2a = createA2aAgent?.({
    config: { ...execution, authenticator: { type: "platform" } },
    notifications: undefined,
    readSecret,
  });
  const host = createHost({
    agent: runAsAgent(log, () => createAgents({ execution, createAgent, dependencies })),
    store: openTaskStore({ table, aws }),
    conversations: openConversations({ table, aws }),
    completions: openCompletionQueue({ queueUrl: completionsUrl, aws }),
    authenticator: life.authenticator,
    asker: createAskerSettings({ execution, openUsedTokens: () => openUsedTokens({ table, aws }) }),
    a2a: a2a && { ...a2a.settings, listsTasks: false },
    ...createHostSettings({ execution, platform: { kind: "agentcore", maxLifetimeMs } }),
    processLeftMs: life.leftMs,
    newId: createId,
    log,
    telemetry,
  });
  const server = await startExecutionServer({
    host,
    hostname,
    port,
    platformPrincipal: "agentcore",
    log,
  });
  // Not before, because Node prints why a start was rejected, and a log line has no messages.
  handleUncaughtErrors({ log });
  log.info("server_listens", { address: server.url });
  // A failure does not stop the host: it still serves the contract, and the next request for a card tries again.
  a2a
    ?.publish({ url: runtimeUrl ?? `${server.url}/` })
    .catch((error: unknown) => log.error("cards_not_made", { cause_kind: errorKind(error) }));
  process.once("SIGTERM", async () => {
    await host.stop({ graceMs });
    await server.close();
    await telemetry.close();
    process.exit();
  });
}

/**
 * Counts the lifetime of a session from its first call, a little later than the platform does. The platform version V2 restores the process
 * from a snapshot, so the process may have started long before its session. A `GET /ping` is no call.
 */
function createSessionLife({
  maxLifetimeMs,
  authenticator,
}: {
  maxLifetimeMs: number;
  authenticator: Authenticator;
}) {
  let firstCallMs: number | undefined;
  const countingAuthenticator: Authenticator = {
    ...authenticator,
    authenticate(request) {
      firstCallMs ??= performance.now();
      return authenticator.authenticate(request);
    },
  };
  const livedMs = () => (firstCallMs === undefined ? 0 : performance.now() - firstCallMs);
  return { authenticator: countingAuthenticator, leftMs: () => maxLifetimeMs - livedMs() };
}
