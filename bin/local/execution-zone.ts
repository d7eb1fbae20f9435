/** The Execution zone on one machine: the host and its agent around one engine. */
import { basename } from "node:path";
import { type A2aAgent, openA2aAgent } from "../../lambdas/execution/a2a-agent.ts";
import { loadAgent } from "../../lambdas/execution/agents/load-agent.ts";
import type { Authenticator } from "../../lambdas/execution/host/authenticator/authenticator.ts";
import { createAuthenticator } from "../../lambdas/execution/host/authenticator/create-authenticator.ts";
import { noAuthenticator } from "../../lambdas/execution/host/authenticator/none.ts";
import { parseExecutionTask } from "../../lambdas/execution/host/execution-task.ts";
import { createHost, type Host } from "../../lambdas/execution/host/host.ts";
import { createLocalAttachmentFetch } from "../../lambdas/execution/host/local-attachment-fetch.ts";
import { type ExecutionServer, startExecutionServer } from "../../lambdas/execution/server.ts";
import type { AuthenticatorConfig } from "../../lambdas/shared/config/authenticator-schema.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { ConfigError } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import { maxTaskMsOf } from "../../lambdas/shared/config/stage-config.ts";
import type { TaskQueue } from "../../lambdas/shared/engine/ports.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import type { ProcessTelemetry } from "../../lambdas/shared/telemetry/telemetry.ts";
import type { Engine } from "./engine.ts";
import { showAgentErrors } from "./show-agent-errors.ts";

export type ExecutionZone = { host: Host; url: string; port: number; close(): Promise<void> };

/** What a running task gets to end by itself when the zone is closed. */
const graceMs = 3000;

type HostOptions = {
  config: Config["execution"];
  openEngine: () => Engine;
  directory: string;
  /** Where the ends of accepted tasks are pushed to, where the Verification zone is at hand. */
  completions?: TaskQueue | undefined;
  log: Log;
  telemetry?: ProcessTelemetry | undefined;
};

type OpenedHost = Pick<A2aAgent, "publish"> & { host: Host; close(): Promise<void> };

/** The host alone, to be called as a function. Rejects with a ConfigError where the agent cannot be loaded. */
export async function openHost({
  config,
  openEngine,
  directory,
  completions,
  log,
  telemetry,
}: HostOptions): Promise<OpenedHost> {
  const loaded = await loadAgent({ agent: config.agent, cwd: directory, readSecret }).catch((cause: unknown) => {
    throw new ConfigError("The agent", [cause instanceof Error ? cause.message : String(cause)], { cause });
  });
  const show = (text: string) => process.stderr.write(`${text}\n`);
  const agent = readEnvironment().showAgentErrors ? showAgentErrors({ agent: loaded, show }) : loaded;
  const engine = openEngine();
  const store = engine.taskStore({ parse: parseExecutionTask });
  const a2a = openA2aAgent({ config, store, notifications: engine.notifications?.(), readSecret, log });
  const host = createHost({
    agent,
    agentName: typeof config.agent === "string" ? basename(config.agent) : config.agent.type,
    store,
    completions,
    a2a: a2a.settings,
    dialects: config.dialects,
    authenticator: authenticatorOf(config.authenticator),
    syncBudgetMs: config.syncBudgetMs,
    maxTaskMs: maxTaskMsOf({ config: { execution: config } }),
    leaseMs: config.leaseMs,
    lostAfterMs: config.lostAfterMs,
    // Files of messages are on this machine too.
    publicFetch: createLocalAttachmentFetch(),
    log,
    telemetry,
  });
  return {
    host,
    publish: a2a.publish,
    async close() {
      await host.stop({ graceMs });
      await a2a.close();
      await engine.close();
    },
  };
}

export async function startExecutionZone(options: HostOptions & { port: number }): Promise<ExecutionZone> {
  const { host, publish, close } = await openHost(options);
  let server: ExecutionServer | undefined;
  try {
    server = await startExecutionServer({ host, port: options.port, log: options.log });
    await publish({ url: `${server.url}/` });
    const { url, port } = server;
    return {
      host,
      url,
      port,
      async close() {
        // Tasks end first, so that whoever waits for one hears of it on the connection that is open.
        await host.stop({ graceMs });
        await server?.close();
        await close();
      },
    };
  } catch (thrown) {
    await server?.close();
    await close();
    throw thrown;
  }
}

/** On this machine no platform is in front of the host: then it is as good as none, and as far as that stays on loopback. */
function authenticatorOf(config: AuthenticatorConfig): Authenticator {
  return config.type === "platform" ? noAuthenticator() : createAuthenticator({ config, readSecret });
}
