/** The Execution zone on one machine: the host and its agent around one engine. */
import { resolve } from "node:path";
import { styleText } from "node:util";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import { localSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { type A2aAgent, createA2aAgent, startPushLoop } from "@sekisho/execution/a2a/a2a-agent.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { loadAgent, loadAgents } from "@sekisho/execution/agents/load-agent.ts";
import type { LocalKeys } from "@sekisho/execution/authenticator/asker-token.ts";
import {
  type Authenticator,
  createNoneAuthenticator,
} from "@sekisho/execution/authenticator/authenticator.ts";
import { createAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { createHost, type Host } from "@sekisho/execution/host.ts";
import { createAskerSettings, createHostSettings } from "@sekisho/execution/host-settings.ts";
import { type ExecutionServer, startExecutionServer } from "@sekisho/execution/http/server.ts";
import { createLocalAttachmentFetch } from "@sekisho/execution/runs/attachments.ts";
import { handleUncaughtErrors, runAsAgent } from "@sekisho/execution/runs/uncaught-errors.ts";
import { parseConversationRecord } from "@sekisho/execution/tasks/conversation-record.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { parseUsedToken } from "@sekisho/execution/tasks/used-token.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import type { Engine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";
import { describeLoadError } from "./author/describe-load.ts";
import { describeError, reportAgent } from "./author/report-agent.ts";
import { isAuthorsFile } from "./author/source-place.ts";
import { createLanding, namePortHolder } from "./landing.ts";

export type ExecutionZone = { host: Host; url: string; port: number; close(): Promise<void> };

/** A running task gets this long to end when the zone closes. */
const graceMs = 3000;

type HostOptions = {
  config: Config["execution"];
  openEngine: () => Engine;
  directory: string;
  /** Completions of accepted tasks are pushed here, if the Verification zone shares the queue. */
  completions?: TaskQueue | undefined;
  /** The keys of the Verification zone on this machine, by its issuer. */
  askerKeys?: LocalKeys | undefined;
  /** The port of the Verification zone on this machine. Agents may read files from it. Undefined if unknown. */
  verificationPort?: () => number | undefined;
  log: Log;
  telemetry?: ProcessTelemetry | undefined;
};

type OpenedHost = Pick<A2aAgent, "publish"> & { host: Host; close(): Promise<void> };

/** The host without a server, called as a function. Rejects with a ConfigError if the agent cannot be loaded. */
export async function openHost(options: HostOptions): Promise<OpenedHost> {
  const {
    config,
    openEngine,
    directory,
    completions,
    askerKeys: localKeys,
    verificationPort = () => undefined,
    log,
    telemetry,
  } = options;
  const agent = await loadAgents({
    execution: config,
    load: (agentConfig) => loadOne({ agent: agentConfig, directory, log }),
  });
  const engine = openEngine();
  const asker = createAskerSettings({
    execution: config,
    openUsedTokens: () => engine.taskStore({ parse: parseUsedToken }),
  });
  const store = engine.taskStore({ parse: parseExecutionTask });
  const notifications = engine.notifications?.();
  const a2a = createA2aAgent({ config, notifications, readSecret });
  const host = createHost({
    agent,
    store,
    conversations: engine.taskStore({ parse: parseConversationRecord }),
    completions,
    a2a: a2a.settings,
    ...createHostSettings({
      execution: { ...config, syncBudgetMs: config.syncBudgetMs ?? localSyncBudgetMs },
    }),
    authenticator: authenticatorOf(config.authenticator),
    asker: asker && { ...asker, localKeys },
    // Attachments are on this machine too.
    publicFetch: createLocalAttachmentFetch({ verificationPort }),
    log,
    ...(telemetry && { telemetry }),
  });
  const { allowLoopback } = config.a2a.push;
  const pushLoop =
    notifications && startPushLoop({ host, queue: notifications, store, allowLoopback, log });
  return {
    host,
    publish: a2a.publish,
    async close() {
      await host.stop({ graceMs });
      await pushLoop?.close();
      await engine.close();
    },
  };
}

async function loadOne(request: {
  agent: AgentConfig;
  directory: string;
  log: Log;
}): Promise<Agent> {
  const { agent, directory, log } = request;
  const file = agentFile({ agent, directory });
  const load = () => loadAgent({ agent, cwd: directory, readSecret });
  const loadedAgent = await runAsAgent(log, load).catch((cause: unknown) => {
    throw toAgentError({ cause, file });
  });
  return readEnvironment().showAgentErrors
    ? reportAgent({ agent: loadedAgent, file, show: showError })
    : loadedAgent;
}

/** The path of the user's own file. Undefined for a built-in agent. */
function agentFile({
  agent,
  directory,
}: {
  agent: AgentConfig;
  directory: string;
}): string | undefined {
  return typeof agent === "string" && agent !== "echo" ? resolve(directory, agent) : undefined;
}

/** Adds the line of the problem, for the person at this terminal. */
function toAgentError({ cause, file }: { cause: unknown; file: string | undefined }): ConfigError {
  const message = cause instanceof Error ? cause.message : String(cause);
  const details = file === undefined ? [] : describeLoadError({ error: Object(cause).cause, file });
  return new ConfigError("The agent", [[message, ...details].join("\n    ")], { cause });
}

/** Keeps this process alive if the agent leaves an error that nothing catches, and tells the person at this terminal. */
export function handleAgentErrors({ log }: { log: Log }): void {
  const show = (error: unknown) =>
    showError(
      ["The agent left an error that nothing catches:", ...describeError(error), ""].join("\n"),
    );
  const showOption = readEnvironment().showAgentErrors ? { show } : {};
  handleUncaughtErrors({ log, isAgentFile: isAuthorsFile, ...showOption });
}

/** For the person at this terminal. */
function showError(text: string): void {
  process.stderr.write(`${styleText("red", sanitizeLines(text), { stream: process.stderr })}\n`);
}

/** `isWithPage` is true if the Verification zone of the same process serves the pages for people. */
export async function startExecutionZone(
  options: HostOptions & { port: number; isWithPage?: boolean },
): Promise<ExecutionZone> {
  const { port, log, verificationPort, isWithPage = false } = options;
  const { host, publish, close } = await openHost(options);
  const pageOf = () => ({
    zone: "Execution zone of sekisho start" as const,
    text: "It runs your agent, and takes tasks from programs.",
    link: { href: `http://127.0.0.1:${verificationPort?.()}/`, text: "Open the page" },
  });
  const cardOf = () => ({
    zone: "Execution zone of sekisho execution" as const,
    text: "It runs your agent, and takes tasks from programs.",
    link: { href: agentCardPath, text: "Read its agent card" },
  });
  const page = createLanding(isWithPage ? pageOf : cardOf);
  const portSetting = isWithPage ? "SEKISHO_EXECUTION_PORT" : "SEKISHO_EXECUTION_PORT or --port";
  let server: ExecutionServer | undefined;
  async function closeAll(): Promise<void> {
    // Tasks end first, so that a waiting caller gets the result on its open connection.
    await host.stop({ graceMs });
    await server?.close();
    await close();
  }
  try {
    const listening = startExecutionServer({ host, port, portSetting, page, log });
    server = await namePortHolder(listening, { port, portSetting });
    await publish({ url: `${server.url}/` });
    return { host, url: server.url, port: server.port, close: closeAll };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** There is no platform in front of the host on this machine. So `platform` means no authentication, and loopback only. */
function authenticatorOf(config: AuthenticatorConfig): Authenticator {
  return config.type === "platform"
    ? createNoneAuthenticator()
    : createAuthenticator({ config, readSecret });
}
