/** The entry `./execution`: the Execution zone inside a server of one's own, and behind node:http. */

import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import { minTokenLength } from "@sekisho/config/secrets.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import type { Agent } from "./agents/agent.ts";
import type { CreateAgent } from "./agents/create-agent.ts";
import { createNoneAuthenticator } from "./authenticator/authenticator.ts";
import { createBearerAuthenticator } from "./authenticator/create-authenticator.ts";
import type { FunctionUrlHandler } from "./handlers/function-url-handler.ts";
import { createHost } from "./host.ts";
import { createWebHandler } from "./http/routes.ts";
import {
  createRequestListener,
  type RequestListener,
  startExecutionServer,
} from "./http/server.ts";
import { parseConversationRecord } from "./tasks/conversation-record.ts";
import { parseExecutionTask } from "./tasks/execution-task.ts";

/**
 * Resolves to a handler for a Function URL with IAM. `config` is JSON with the sections `execution` and `telemetry`. Rejects if it or the
 * environment is invalid, or if a package for AWS is not installed.
 *
 * @example
 * export const handler = await createFunctionUrlHandler({ config: { execution: { agent: "echo" } } });
 */
export async function createFunctionUrlHandler(options: {
  config: unknown;
}): Promise<FunctionUrlHandler> {
  const config = parseExecutionSections(options.config);
  const { createFunctionUrlHandler: create } = await loadPeers(
    () => import("./handlers/function-url-handler.ts"),
  );
  return create({ config });
}

/**
 * Runs the Execution zone on Bedrock AgentCore. `config` is JSON with the sections `execution` and `telemetry`. Resolves when the server
 * listens; rejects if it cannot, if the configuration or the environment is invalid, or if a package for AWS is not installed.
 *
 * @example
 * await startAgentCore({ config: { execution: {} }, createAgent: () => agent });
 */
export async function startAgentCore(options: {
  config: unknown;
  createAgent: CreateAgent;
}): Promise<void> {
  const config = parseExecutionSections(options.config);
  const { startAgentCore: start } = await loadPeers(() => import("./handlers/start-agentcore.ts"));
  await start({ ...options, config });
}

/** AWS and telemetry are optional peer dependencies: whoever serves the zone elsewhere needs none of them. */
async function loadPeers<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const [, name] = /^Cannot find package '([^']+)'/.exec(String((error as Error).message)) ?? [];
    if (name === undefined) throw error;
    throw new Error(`The package ${name} is not installed. Run npm install ${name}`, {
      cause: error,
    });
  }
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

/** Throws if there are no tokens or one is too short, before it opens the file, and an EngineFileError if the file cannot be used. */
export function createExecutionZone(options: ExecutionZoneOptions): ExecutionZone {
  // JavaScript may leave the tokens out.
  const { agent, tokens = [], file = ":memory:", path = "/", logLevel: level = "info" } = options;
  const { syncBudgetMs = defaultSyncBudgetMs } = options;
  const log = createLog({ service: "execution", level });
  const authenticator =
    tokens === "none" ? createNoneAuthenticator() : createTokenAuthenticator(tokens);
  const engine = openSqliteEngine({ file });
  const host = createHost({
    agent,
    store: engine.taskStore({ parse: parseExecutionTask }),
    conversations: engine.taskStore({ parse: parseConversationRecord }),
    authenticator,
    syncBudgetMs,
    log,
  });
  const closeController = new AbortController();
  const base = path.endsWith("/") ? path : `${path}/`;
  return {
    // No new Request is made for the other path: that would begin to read the body, also of a caller that is refused.
    fetch: createWebHandler(async (exchange) => {
      if (!`${exchange.path}/`.startsWith(base)) return { status: 404, headers: {}, body: "" };
      return host.exchange({ ...exchange, path: exchange.path.slice(base.length - 1) || "/" });
    }),
    listener: createRequestListener({ host, closeSignal: closeController.signal, log }),
    listen: ({ port, hostname = "127.0.0.1" }) =>
      startExecutionServer({ host, hostname, port, log }),
    async close() {
      closeController.abort();
      await host.stop({ graceMs });
      await engine.close();
    },
  };
}

function createTokenAuthenticator(tokens: readonly string[]) {
  const isShort = tokens.some((token) => token.length < minTokenLength);
  if (isShort || tokens.length === 0) {
    throw new Error(
      `Give at least one token of ${minTokenLength} characters or more (openssl rand -hex 32), or "none".`,
    );
  }
  return createBearerAuthenticator({ readTokens: async () => tokens });
}
