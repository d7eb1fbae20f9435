/** The entry `./execution`: the Execution zone inside a server of one's own, and behind node:http. */
import type { Agent } from "../../lambdas/execution/agents/agent.ts";
import type { CreateAgent } from "../../lambdas/execution/agents/create-agent.ts";
import { createNoneAuthenticator } from "../../lambdas/execution/authenticator/authenticator.ts";
import { createBearerAuthenticator } from "../../lambdas/execution/authenticator/create-authenticator.ts";
import {
  createFunctionUrlHandler as createUrlHandler,
  type FunctionUrlHandler,
} from "../../lambdas/execution/handlers/function-url-handler.ts";
import { startAgentCore as startOnAgentCore } from "../../lambdas/execution/handlers/start-agentcore.ts";
import { createHost } from "../../lambdas/execution/host.ts";
import { createWebHandler } from "../../lambdas/execution/http/routes.ts";
import {
  createRequestListener,
  type RequestListener,
  startExecutionServer,
} from "../../lambdas/execution/http/server.ts";
import { parseExecutionTask } from "../../lambdas/execution/tasks/execution-task.ts";
import { defaultSyncBudgetMs } from "../../lambdas/shared/config/call-time.ts";
import { parseExecutionSections } from "../../lambdas/shared/config/execution-schema.ts";
import { leastTokenLength } from "../../lambdas/shared/config/secrets.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import { openSqliteEngine } from "../local/engine.ts";

/**
 * Returns a handler for a Function URL with IAM. `config` is JSON with the sections `execution` and `telemetry`. Throws if it or the
 * environment is invalid.
 */
export function createFunctionUrlHandler({ config }: { config: unknown }): FunctionUrlHandler {
  return createUrlHandler({ config: parseExecutionSections(config) });
}

/**
 * Runs the Execution zone on Bedrock AgentCore. `config` is JSON with the sections `execution` and `telemetry`. Resolves when the server
 * listens; rejects if it cannot, or if the configuration or the environment is invalid.
 */
export async function startAgentCore(options: {
  config: unknown;
  createAgent: CreateAgent;
}): Promise<void> {
  await startOnAgentCore({ ...options, config: parseExecutionSections(options.config) });
}

export type ExecutionZoneOptions = {
  agent: Agent;
  /**
   * The bearer tokens that callers may present, each of at least 20 characters. All of them are one caller, so that one can replace
   * another. `"none"` admits everybody, which is only for a server that nobody else can reach.
   */
  tokens: readonly string[] | "none";
  /** The sqlite file that keeps the tasks. Default: none, so that a restart forgets them. */
  file?: string;
  /** The path under which a server of your own mounts `fetch`, such as `/agents/sekisho`. Default: `/`. */
  path?: string;
  /** How long a first call waits for the end of its task before it answers `accepted`, in milliseconds. Default: 1,500. */
  syncBudgetMs?: number;
  /** The least important lines that are logged, as JSON on standard output. Default: `info`. */
  logLevel?: "debug" | "info" | "warn" | "error";
};

export type ExecutionZone = {
  /** A web-standard handler. It serves the paths of docs/reference/contract.md below `path`, and answers 404 elsewhere. */
  fetch(request: Request): Promise<Response>;
  /**
   * The same for a node:http server, Express or Connect: `app.use("/agents/sekisho", zone.listener)`. It serves `request.url`, which these
   * give without the path of `use`, so `path` does not count here. Mount it before a body parser, because it reads the body itself.
   */
  listener: RequestListener;
  /** Serves the same by node:http, at `/`. Rejects if the port is in use, or if everybody would be admitted beyond loopback. */
  listen(options: {
    port: number;
    hostname?: string;
  }): Promise<{ url: string; close(): Promise<void> }>;
  /** Ends the tasks that run, and closes the file. */
  close(): Promise<void>;
};

/** Running tasks get this long to end, in milliseconds. */
const graceMs = 3000;

/** Throws if a token is too short, and an EngineFileError if the file cannot be used. */
export function createExecutionZone(options: ExecutionZoneOptions): ExecutionZone {
  const { agent, tokens, file = ":memory:", path = "/", logLevel: level = "info" } = options;
  const { syncBudgetMs = defaultSyncBudgetMs } = options;
  const log = createLog({ service: "execution", level });
  const engine = openSqliteEngine({ file });
  const host = createHost({
    agent,
    store: engine.taskStore({ parse: parseExecutionTask }),
    authenticator: tokens === "none" ? createNoneAuthenticator() : authenticatorOf(tokens),
    syncBudgetMs,
    log,
  });
  const closing = new AbortController();
  const base = path.endsWith("/") ? path : `${path}/`;
  return {
    // No new Request is made for the other path: that would begin to read the body, also of a caller that is refused.
    fetch: createWebHandler(async (exchange) => {
      if (!`${exchange.path}/`.startsWith(base)) return { status: 404, headers: {}, body: "" };
      return host.exchange({ ...exchange, path: exchange.path.slice(base.length - 1) || "/" });
    }),
    listener: createRequestListener({ host, closing: closing.signal, log }),
    listen: ({ port, hostname = "127.0.0.1" }) =>
      startExecutionServer({ host, hostname, port, log }),
    async close() {
      closing.abort();
      await host.stop({ graceMs });
      await engine.close();
    },
  };
}

function authenticatorOf(tokens: readonly string[]) {
  const isShort = tokens.some((token) => token.length < leastTokenLength);
  if (isShort || tokens.length === 0) {
    throw new Error(
      `Give at least one token of ${leastTokenLength} characters or more (openssl rand -hex 32), or "none".`,
    );
  }
  return createBearerAuthenticator({ readTokens: async () => tokens });
}
