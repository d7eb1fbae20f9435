/** The Execution worker on Lambda: runs the agent for the tasks whose ids come from the queue. */

import * as z from "zod";
import { SekishoError } from "../../../contracts/errors.ts";
import { createDeadline } from "../../shared/async/deadline.ts";
import { parseExecutionConfig } from "../../shared/config/load.ts";
import { createLog, type Log } from "../../shared/log.ts";
import { readQueuedIds } from "../../shared/queued-ids.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import { openLambdaTelemetry } from "../../shared/telemetry/lambda-telemetry.ts";
import { createPushDelivery, type PushDelivery } from "../a2a/push-delivery.ts";
import { agentDependencies, type CreateAgent } from "../agents/create-agent.ts";
import { openCompletionQueue, openTaskQueue, openTaskStore } from "../aws-engine.ts";
import { readExecutionWorkerEnvironment } from "../config/aws-environment.ts";
import { workerSettings } from "../host-settings.ts";
import { createExecutionWorker, type ExecutionWorker } from "../runs/execution-worker.ts";
import { parseExecutionMessage } from "../tasks/task-message.ts";

/** `config` has the sections `execution` and `telemetry`, as JSON. Throws at once where it or the environment cannot be used. */
export function createExecutionWorkerHandler({
  config,
  createAgent,
}: {
  config: unknown;
  createAgent: CreateAgent;
}): ExecutionWorkerHandler {
  const { execution, telemetry: telemetryConfig } = parseExecutionConfig({ json: config });
  const { table, completionsUrl, queueUrl, logs, aws } = readExecutionWorkerEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const dependencies = agentDependencies(aws);
  const { readSecret } = dependencies;
  const telemetry = openLambdaTelemetry({ config: telemetryConfig, service: "execution", readSecret, aws, log });
  const store = openTaskStore({ table });
  const queue = queueUrl === undefined ? undefined : openTaskQueue({ queueUrl });
  const { allowLoopback } = execution.a2a.push;
  const worker = createExecutionWorker({
    agent: createAgent({ ...dependencies, config: execution.agent }),
    store,
    notifications: queue,
    completions: openCompletionQueue({ queueUrl: completionsUrl }),
    ...workerSettings({ execution }),
    log,
    telemetry,
  });
  const delivery = queue && createPushDelivery({ store, queue, allowLoopback, log });
  return handleExecutionBatches({ worker, delivery, settled: telemetry.flush, log });
}

// Runs the tasks of a batch from SQS, each to its end, delivers their push notifications and looks after them, within the function's time.

type Context = { getRemainingTimeInMillis(): number };
type BatchResponse = { batchItemFailures: { itemIdentifier: string }[] };
export type ExecutionWorkerHandler = (event: unknown, context: Context) => Promise<BatchResponse>;

const eventSchema = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

/** What storing the outcome of an agent that was stopped may take before Lambda ends the function. */
const stopBeforeEndMs = 20_000;

/**
 * A record that fails is named, and its message comes again; the others are finished. Without `delivery` a notification is a
 * failed record. Throws for what is no SQS event.
 */
export function handleExecutionBatches({
  worker,
  delivery,
  settled = async () => {},
  log,
}: {
  worker: ExecutionWorker;
  delivery?: PushDelivery | undefined;
  /** Awaited before the function may be frozen. */
  settled?: () => Promise<void>;
  log: Log;
}): ExecutionWorkerHandler {
  async function handleOne({ body, signal }: { body: string; signal: AbortSignal }): Promise<void> {
    const message = parseExecutionMessage(body);
    if ("taskId" in message) return worker.run({ ...message, signal });
    if ("look" in message) return worker.look(message.look);
    if (delivery === undefined) throw new SekishoError("push_not_supported");
    return delivery.deliver({ ...message.push, signal });
  }

  return async (event, context) => {
    const { Records: records } = eventSchema.parse(event);
    const { signal, end } = createDeadline({ timeoutMs: context.getRemainingTimeInMillis() - stopBeforeEndMs });
    const results = await Promise.allSettled(records.map(({ body }) => handleOne({ body, signal })));
    end();
    const batchItemFailures = records.flatMap(({ messageId: itemIdentifier, body }, index) => {
      const result = results[index];
      if (result?.status !== "rejected") return [];
      log.error("task_message_failed", { ...readQueuedIds(body), cause_kind: errorKind(result.reason) });
      return [{ itemIdentifier }];
    });
    await settled();
    return { batchItemFailures };
  };
}
