/** The Execution worker on Lambda: runs the agent for the tasks whose ids come from SQS, and delivers push notifications. */

import type { ExecutionSections } from "@sekisho/config/execution-schema.ts";
import { openLambdaTelemetry } from "@sekisho/config/telemetry/lambda-telemetry.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  type BatchResponse,
  endingSignal,
  handleBatch,
  type InvocationContext,
  parseBatch,
  type SqsRecord,
} from "@sekisho/runtime/engine/aws/batch.ts";
import { leaveToNewerVersion } from "@sekisho/runtime/engine/leave-to-newer.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { isNewerRecord } from "@sekisho/runtime/engine/record-version.ts";
import { createLog, type Log } from "@sekisho/runtime/log.ts";
import { createPushDelivery, type PushDelivery } from "../a2a/push-delivery.ts";
import { agentDependencies, type CreateAgent, createAgents } from "../agents/create-agent.ts";
import {
  openCompletionQueue,
  openConversations,
  openTaskQueue,
  openTaskStore,
} from "../aws-engine.ts";
import { readExecutionWorkerEnvironment } from "../config/aws-environment.ts";
import { createExecutionWorker, type ExecutionWorker } from "../execution-worker.ts";
import { workerSettings } from "../host-settings.ts";
import { runAsAgent } from "../runs/uncaught-errors.ts";
import { isNewerMessage, parseExecutionMessage, readExecutionIds } from "../tasks/task-message.ts";

/** Throws if the environment is invalid. */
export function createExecutionWorkerHandler(options: {
  config: ExecutionSections;
  createAgent: CreateAgent;
}): ExecutionWorkerHandler {
  const { config, createAgent } = options;
  const { execution, telemetry: telemetryConfig } = config;
  const { table, completionsUrl, queueUrl, logs, aws } = readExecutionWorkerEnvironment();
  const log = createLog({ service: "execution", ...logs });
  const dependencies = agentDependencies(aws);
  const { readSecret } = dependencies;
  const telemetry = openLambdaTelemetry({
    config: telemetryConfig,
    service: "execution",
    readSecret,
    aws,
    log,
  });
  const store = openTaskStore({ table, aws });
  const queue = queueUrl === undefined ? undefined : openTaskQueue({ queueUrl, aws });
  const { allowLoopback } = execution.a2a.push;
  const worker = createExecutionWorker({
    agent: runAsAgent(log, () => createAgents({ execution, createAgent, dependencies })),
    store,
    conversations: openConversations({ table, aws }),
    notifications: queue,
    completions: openCompletionQueue({ queueUrl: completionsUrl, aws }),
    ...workerSettings({ execution }),
    log,
    telemetry,
  });
  const delivery = queue && createPushDelivery({ store, queue, allowLoopback, log });
  return handleExecutionBatches({ worker, delivery, queue, flush: telemetry.flush, log });
}

export type ExecutionWorkerHandler = (
  event: unknown,
  context: Pick<InvocationContext, "getRemainingTimeInMillis">,
) => Promise<BatchResponse>;

/** The time to store the outcome of a stopped agent before Lambda ends the function. */
const stopBeforeEndMs = 20_000;

/**
 * Reports the records that failed, so that only their messages come again. Without `delivery`, a push notice is a failed record. Throws
 * for anything but an SQS event.
 */
export function handleExecutionBatches(request: {
  worker: ExecutionWorker;
  delivery?: PushDelivery | undefined;
  /** Takes the messages that are not due yet, and copies of those that are left to a newer version. */
  queue?: TaskQueue | undefined;
  /** Awaited before the function may be frozen. */
  flush?: () => Promise<void>;
  log: Log;
  now?: () => number;
}): ExecutionWorkerHandler {
  const { worker, delivery, queue, flush = async () => {}, log, now = Date.now } = request;
  async function handleOne({ body, signal }: { body: string; signal: AbortSignal }): Promise<void> {
    const message = parseExecutionMessage(body);
    if ("taskId" in message) return worker.run({ ...message, signal });
    if ("look" in message) return worker.look(message.look);
    if ("vote" in message) return worker.vote(message.vote);
    if (delivery === undefined) throw new SekishoError("push_not_supported");
    return delivery.deliver({ ...message.push, signal });
  }

  /** Leaves what only a newer version can handle to a worker of that version. */
  async function handleOwnVersion({
    body,
    group,
    signal,
  }: {
    body: string;
    group: string | undefined;
    signal: AbortSignal;
  }) {
    try {
      await handleOne({ body, signal });
    } catch (error) {
      if (queue === undefined || !(isNewerRecord(error) || isNewerMessage(body))) throw error;
      if (!(await leaveToNewerVersion({ queue, body, group, nowMs: now() }))) throw error;
      log.warn("left_to_newer_version", { ...readExecutionIds(body) });
    }
  }

  return async (event, context) => {
    const batch = parseBatch(event);
    const { signal, end } = endingSignal({ context, reserveMs: stopBeforeEndMs });
    const handle = ({ body, group }: SqsRecord) => handleOwnVersion({ body, group, signal });
    const response = await handleBatch({ batch, handle, queue, idsOf: readExecutionIds, log });
    end();
    await flush();
    return response;
  };
}
