/** The Execution zone's entry on Lambda: the Function URL's handler, which takes and answers requests and runs no agent. */

import type { AwsSurroundings } from "../shared/aws/credentials.ts";
import { parseConfig } from "../shared/config/load.ts";
import type { Config } from "../shared/config/schema.ts";
import { maxTaskMsOf, servesA2a } from "../shared/config/stage-config.ts";
import type { TaskQueue } from "../shared/engine/ports.ts";
import { createLog, type Log } from "../shared/log.ts";
import { openLambdaTelemetry } from "../shared/telemetry/lambda-telemetry.ts";
import { agentSurroundings } from "./agents/create-agent.ts";
import { openTaskQueue, openTaskStore } from "./aws-engine.ts";
import { readUrlEnvironment } from "./config/aws-environment.ts";
import { createCards } from "./host/a2a/cards.ts";
import { lateCards } from "./host/a2a/late-cards.ts";
import type { A2aSettings } from "./host/a2a/open-a2a.ts";
import { platformAuthenticator } from "./host/authenticator/platform.ts";
import { causeKind } from "./host/cause-kind.ts";
import { createHost } from "./host/host.ts";
import { type UrlHandler, urlHandler } from "./url-handler.ts";

/**
 * `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. It pushes no
 * completions: whatever a request ends here (a cancel, a lost task), its answer says so.
 */
export function createUrlHandler({ config }: { config: unknown }): UrlHandler {
  const { execution, telemetry: telemetryConfig } = parseConfig({ json: config });
  const { table, queueUrl, logs, aws } = readUrlEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const { readSecret } = agentSurroundings(aws);
  const telemetry = openLambdaTelemetry({ config: telemetryConfig, service: "execution", readSecret, aws, log });
  const taskQueue = openTaskQueue({ queueUrl });
  const host = createHost({
    store: openTaskStore({ table }),
    taskQueue,
    a2a: servesA2a({ config: { execution }, kind: "lambda" }) ? a2aOf({ execution, taskQueue, aws, log }) : undefined,
    dialects: execution.dialects,
    authenticator: platformAuthenticator(),
    syncBudgetMs: execution.syncBudgetMs,
    maxTaskMs: maxTaskMsOf({ config: { execution }, kind: "lambda" }),
    leaseMs: execution.leaseMs,
    lostAfterMs: execution.lostAfterMs,
    log,
    telemetry,
  });
  return urlHandler({ host, settled: telemetry.flush });
}

/** Notices of changes go to the queue of tasks, whose worker delivers them. A Function URL answers in one piece: no streams. */
function a2aOf({
  execution: { a2a },
  taskQueue,
  aws,
  log,
}: {
  execution: Config["execution"];
  taskQueue: TaskQueue;
  aws: AwsSurroundings;
  log: Log;
}): A2aSettings {
  const { readSecret } = agentSurroundings(aws);
  const { url = "", tenant, push, deduplicate: deduplicates } = a2a;
  // Whatever another place asks of callers, here it is AWS that knows them.
  const authenticator = { type: "platform" } as const;
  const settings = { a2a, url, authenticator, streaming: false, push: true, readSecret };
  const { cards, ready } = lateCards({
    make: () =>
      createCards(settings).catch((error: unknown) => {
        log.error("cards_not_made", { cause_kind: causeKind(error) });
        throw error;
      }),
  });
  // The function serves the zone contract all the same; who asks for a card begins anew.
  ready().catch(() => {});
  return { cards, tenant, deduplicates, notifications: taskQueue, allowLoopbackPush: push.allowLoopback };
}
