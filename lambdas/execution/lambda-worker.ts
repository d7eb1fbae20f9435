/** The Execution worker on Lambda: runs the agent for the tasks whose ids come from the queue. */
import { parseConfig } from "../shared/config/load.ts";
import { createLog } from "../shared/log.ts";
import { openLambdaTelemetry } from "../shared/telemetry/lambda-telemetry.ts";
import { agentNameOf } from "./agents/agent-name.ts";
import { agentSurroundings, type CreateAgent } from "./agents/create-agent.ts";
import { openCompletions, openTaskQueue, openTaskStore } from "./aws-engine.ts";
import { readWorkerEnvironment } from "./config/aws-environment.ts";
import { createPushDelivery } from "./host/a2a/push-delivery.ts";
import { createExecutionWorker } from "./host/execution-worker.ts";
import { type WorkerHandler, workerHandler } from "./worker-handler.ts";

/** `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. */
export function createExecutionWorkerHandler({
  config,
  createAgent,
}: {
  config: unknown;
  createAgent: CreateAgent;
}): WorkerHandler {
  const { execution, telemetry: telemetryConfig } = parseConfig({ json: config });
  const { table, completionsUrl, queueUrl, logs, aws } = readWorkerEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const surroundings = agentSurroundings(aws);
  const { readSecret } = surroundings;
  const telemetry = openLambdaTelemetry({ config: telemetryConfig, service: "execution", readSecret, aws, log });
  const store = openTaskStore({ table });
  const queue = queueUrl === undefined ? undefined : openTaskQueue({ queueUrl });
  const { allowLoopback } = execution.a2a.push;
  const worker = createExecutionWorker({
    agent: createAgent(surroundings),
    agentName: agentNameOf(execution.agent),
    store,
    notifications: queue,
    completions: openCompletions({ queueUrl: completionsUrl }),
    syncBudgetMs: execution.syncBudgetMs,
    leaseMs: execution.leaseMs,
    lostAfterMs: execution.lostAfterMs,
    log,
    telemetry,
  });
  const delivery = queue && createPushDelivery({ store, queue, allowLoopback, log });
  return workerHandler({ worker, delivery, settled: telemetry.flush, log });
}
