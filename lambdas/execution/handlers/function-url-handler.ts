/** The handler of the Function URL on Lambda. It answers requests and queues tasks, but runs no agent. */

import type { ExecutionSections } from "@sekisho/config/execution-schema.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { isA2aEndpoint } from "@sekisho/config/stage-config.ts";
import { openLambdaTelemetry } from "@sekisho/config/telemetry/lambda-telemetry.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { createLog, type Log, silentLog } from "@sekisho/runtime/log.ts";
import { createMinuteLimiter } from "@sekisho/runtime/minute-limiter.ts";
import { createCards, createLateCards } from "../a2a/cards.ts";
import type { A2aSettings } from "../a2a/endpoint.ts";
import { agentDependencies } from "../agents/create-agent.ts";
import { createPlatformAuthenticator } from "../authenticator/authenticator.ts";
import { createCallerQueue, openTaskQueue, openTaskStore, openUsedTokens } from "../aws-engine.ts";
import { readFunctionUrlEnvironment } from "../config/aws-environment.ts";
import type { Exchange, ExchangeResponse } from "../exchange.ts";
import { createHost, type Host } from "../host.ts";
import { createAskerSettings, createHostSettings } from "../host-settings.ts";
import {
  type FunctionUrlResponse,
  toExchange,
  toFunctionUrlResponse,
  toRolePrincipal,
} from "../http/function-url-event.ts";

/**
 * Throws if the environment is invalid. Pushes no completions: if a
 * request ends a task here, its response already carries the outcome.
 */
export function createFunctionUrlHandler({
  config,
}: {
  config: ExecutionSections;
}): FunctionUrlHandler {
  const { execution, telemetry: telemetryConfig } = config;
  const { table, queueUrl, clientsQueueUrl, callers, logs, aws } = readFunctionUrlEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const { readSecret } = agentDependencies(aws);
  const telemetry = openLambdaTelemetry({
    config: telemetryConfig,
    service: "execution",
    readSecret,
    aws,
    log,
  });
  const verification = openTaskQueue({ queueUrl, aws });
  const clients =
    clientsQueueUrl === undefined
      ? verification
      : openTaskQueue({ queueUrl: clientsQueueUrl, aws });
  const principal = toRolePrincipal(callers[0]);
  const taskQueue = createCallerQueue({ verification, clients, principal });
  const host = createHost({
    store: openTaskStore({ table, aws }),
    taskQueue,
    a2a: isA2aEndpoint({ config: { execution }, kind: "lambda" })
      ? selectA2a({ execution, taskQueue, aws, log })
      : undefined,
    ...createHostSettings({ execution, platform: { kind: "lambda" } }),
    authenticator: createPlatformAuthenticator(),
    asker: createAskerSettings({ execution, openUsedTokens: () => openUsedTokens({ table, aws }) }),
    // A held call occupies an instance of the function. If A2A clients held all instances, tasks from Slack could not start.
    mayWait: (caller) => caller === principal,
    log,
    telemetry,
  });
  return handleFunctionUrlRequests({ host, callers, log, flush: telemetry.flush });
}

/** Push notices go to the task queue, whose worker delivers them. A Function URL answers in one piece, so there are no streams. */
function selectA2a(request: {
  execution: Config["execution"];
  taskQueue: TaskQueue;
  aws: AwsDependencies;
  log: Log;
}): A2aSettings {
  const { taskQueue, aws, log } = request;
  const { a2a } = request.execution;
  const { readSecret } = agentDependencies(aws);
  const { url = "", tenant, push, deduplicate: deduplicates } = a2a;
  // On Lambda, AWS authenticates the callers. The configured authenticator is for other platforms.
  const authenticator = { type: "platform" } as const;
  const settings = { a2a, url, authenticator, streaming: false, push: true, readSecret };
  const { cards, ready } = createLateCards({
    make: () =>
      createCards(settings).catch((error: unknown) => {
        log.error("cards_not_made", { cause_kind: errorKind(error) });
        throw error;
      }),
  });
  // A failure does not stop the function: it still serves the zone contract, and the next request for a card tries again.
  ready().catch(() => {});
  return {
    cards,
    tenant,
    deduplicates,
    notifications: taskQueue,
    allowLoopbackPush: push.allowLoopback,
  };
}

export type FunctionUrlHandler = (event: unknown) => Promise<FunctionUrlResponse>;

/**
 * Never rejects. Answers 403 to everyone but the roles in `callers`, before the host sees the request. The function's policy can name only
 * accounts: a Lambda permission has no condition on the caller's ARN, and a role named as principal is locked out when it is recreated.
 */
export function handleFunctionUrlRequests(request: {
  host: Pick<Host, "exchange">;
  /** ARNs of roles. */
  callers: readonly string[];
  /** Logs a refused caller once per address and minute. */
  log?: Log;
  now?: () => number;
  /** Awaited before the function may be frozen. */
  flush?: () => Promise<void>;
}): FunctionUrlHandler {
  const { host, callers, log = silentLog, now = Date.now, flush = async () => {} } = request;
  const principals: ReadonlySet<string | undefined> = new Set(callers.map(toRolePrincipal));
  const isDue = createMinuteLimiter({ now });

  async function respond(exchange: Exchange | undefined): Promise<ExchangeResponse> {
    if (exchange !== undefined && principals.has(exchange.platformPrincipal))
      return host.exchange(exchange);
    const reason = exchange === undefined ? "unauthenticated" : "permission_denied";
    const fields = { reason, source_address: exchange?.sourceAddress };
    if (isDue(JSON.stringify(fields))) log.warn("request_refused", fields);
    return refusal();
  }

  return async (event) => {
    const answer = toFunctionUrlResponse(await respond(toExchange(event)));
    await flush();
    return answer;
  };
}

function refusal() {
  const error = encodeError({ error: new SekishoError("permission_denied"), dialect: "zone" });
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status: 403, headers, body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) };
}
