/** Runs the Execution zone in a container: the host behind node:http, with its tasks in a sqlite file. */

import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "@sekisho/config/config-error.ts";
import type { ExecutionSections } from "@sekisho/config/execution-schema.ts";
import { loadExecutionConfig } from "@sekisho/config/load.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import { readProxies } from "@sekisho/config/proxy-environment.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { shortTokenProblems } from "@sekisho/config/secrets.ts";
import { openProcessTelemetry } from "@sekisho/config/telemetry/process-telemetry.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { useProxies } from "@sekisho/runtime/http/proxy.ts";
import { createLog, type Log } from "@sekisho/runtime/log.ts";
import type { ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createA2aAgent, startPushLoop } from "../a2a/a2a-agent.ts";
import { type CreateAgent, createAgents } from "../agents/create-agent.ts";
import { createAuthenticator } from "../authenticator/create-authenticator.ts";
import {
  type ContainerEnvironment,
  readContainerEnvironment,
  readSecretVariable,
  requireSecretVariables,
} from "../config/container-environment.ts";
import {
  listAgentSecrets,
  listAuthenticatorSecrets,
  listCardSecrets,
} from "../config/execution-secrets.ts";
import { createHost } from "../host.ts";
import { createAskerSettings, createHostSettings } from "../host-settings.ts";
import { checkHealth } from "../http/health.ts";
import { startExecutionServer } from "../http/server.ts";
import { handleUncaughtErrors, runAsAgent } from "../runs/uncaught-errors.ts";
import { parseConversationRecord } from "../tasks/conversation-record.ts";
import { parseExecutionTask } from "../tasks/execution-task.ts";
import { parseUsedToken } from "../tasks/used-token.ts";

/** How long running tasks may continue after SIGTERM. Most platforms kill a container after 10 s. */
const graceMs = 3000;

/** `readConfig` may throw, so it runs where a failure becomes a message. */
type Bundled = { readConfig: () => ExecutionSections; createAgent: CreateAgent };

/**
 * Starts the zone. With the argument `--healthcheck`, checks the health of the one in this container instead. Never rejects: a failure
 * prints its message and sets the exit code 1.
 */
export async function runContainer(bundledParts: Bundled): Promise<void> {
  try {
    const environment = readContainerEnvironment();
    if (process.argv.includes("--healthcheck")) await checkHealth(environment);
    else await start({ environment, ...bundledParts });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : "unknown error"}\n`);
    process.exitCode = 1;
  }
}

async function start(options: Bundled & { environment: ContainerEnvironment }): Promise<void> {
  const { environment, readConfig, createAgent } = options;
  const { configFile } = environment;
  const { execution, telemetry: telemetryConfig } = createSettings({
    bundledConfig: readConfig(),
    configFile,
  });
  const { authenticator } = execution;
  const tokens = listAuthenticatorSecrets(authenticator);
  requireSecretVariables([
    ...tokens,
    ...listAgentSecrets(execution),
    ...listCardSecrets(execution.a2a),
  ]);
  const shortTokens = shortTokenProblems({ references: tokens });
  if (shortTokens.length > 0) throw new ConfigError("The environment", shortTokens);
  const proxies = readProxies();
  if (proxies !== undefined) await useProxies(proxies);
  const log = createLog({
    service: "execution",
    ...toLogSettings({ environment, config: telemetryConfig.logs }),
  });
  handleUncaughtErrors({ log });
  const closeFunctions: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const step of closeFunctions.splice(0).reverse()) await step();
  };
  try {
    const telemetry = openProcessTelemetry({
      config: telemetryConfig,
      service: "execution",
      readSecret: readSecretVariable,
      log,
    });
    closeFunctions.push(telemetry.close);
    const stop = await openHost({
      environment,
      execution,
      createAgent,
      closeFunctions,
      telemetry,
      log,
    });
    const stopAndExit = async () => {
      await stop();
      await close();
      process.exit();
    };
    process.once("SIGTERM", stopAndExit).once("SIGINT", stopAndExit);
  } catch (error) {
    // Open resources would keep the process alive, and the platform would not start another.
    await close();
    throw error;
  }
}

/** Adds what must be closed to `closeFunctions`; the last is closed first. Resolves, once the server listens, to a function that stops the host. */
async function openHost(
  options: Pick<Bundled, "createAgent"> & {
    environment: ContainerEnvironment;
    execution: Config["execution"];
    closeFunctions: (() => Promise<void>)[];
    telemetry: ProcessTelemetry;
    log: Log;
  },
): Promise<() => Promise<void>> {
  const { environment, execution, createAgent, closeFunctions, telemetry, log } = options;
  const { hostname, port, store, region } = environment;
  const { authenticator } = execution;
  const database = openDatabase({ file: store });
  closeFunctions.push(database.close);
  const tasks = createSqliteTaskStore({ database, parse: parseExecutionTask });
  // A2A clients learn the host's address from its card: the configured one, or this machine's own on loopback.
  const servesA2a = execution.a2a.url !== undefined || isLoopbackHost(hostname);
  const queue = createSqliteQueue({
    database,
    name: "notifications",
    deadLetterQueue: "notifications-dead",
  });
  const a2a = servesA2a
    ? createA2aAgent({ config: execution, notifications: queue, readSecret: readSecretVariable })
    : undefined;
  const host = createHost({
    agent: runAsAgent(log, () =>
      createAgents({
        ...{ execution, createAgent },
        dependencies: {
          ...{ readSecret: readSecretVariable, region, credentials: defaultAwsCredentials() },
        },
      }),
    ),
    store: tasks,
    conversations: createSqliteTaskStore({ database, parse: parseConversationRecord }),
    a2a: a2a?.settings,
    ...createHostSettings({ execution }),
    authenticator: createAuthenticator({ config: authenticator, readSecret: readSecretVariable }),
    asker: createAskerSettings({
      execution,
      openUsedTokens: () => createSqliteTaskStore({ database, parse: parseUsedToken }),
    }),
    log,
    telemetry,
  });
  if (a2a !== undefined) {
    const { allowLoopback } = execution.a2a.push;
    closeFunctions.push(startPushLoop({ host, queue, store: tasks, allowLoopback, log }).close);
  }
  const isPlatform = authenticator.type === "platform";
  const platform = isPlatform ? { platformPrincipal: "platform" } : {};
  const server = await startExecutionServer({
    host,
    hostname,
    port,
    portSetting: "PORT",
    ...platform,
    log,
  });
  closeFunctions.push(server.close);
  await a2a?.publish({ url: `${server.url}/` });
  log.info("server_listens", { address: server.url });
  if (isPlatform) log.warn("every_caller_is_let_in");
  return () => host.stop({ graceMs });
}

/** A configuration file may change everything except the agents, whose code is part of the bundle. */
function createSettings(options: {
  bundledConfig: ExecutionSections;
  configFile: string | undefined;
}): ExecutionSections {
  const { bundledConfig, configFile } = options;
  if (configFile === undefined) return bundledConfig;
  const settings = loadExecutionConfig({ directory: process.cwd(), file: configFile });
  for (const field of ["agent", "agents"] as const) {
    const bundledValue = bundledConfig.execution[field];
    if (isDeepStrictEqual(settings.execution[field], bundledValue)) continue;
    throw new Error(
      `${configFile}: execution.${field} must be ${JSON.stringify(bundledValue)}, as in this bundle. To use another agent, bundle again.`,
    );
  }
  return settings;
}
