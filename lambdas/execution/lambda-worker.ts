/** The Execution worker on Lambda: runs the agent for the tasks whose ids come from the queue. */
import * as z from "zod";
import { parseConfig } from "../shared/config/load.ts";
import { createLog, type Log } from "../shared/log.ts";
import { agentNameOf } from "./agents/agent-name.ts";
import { agentSurroundings, type CreateAgent } from "./agents/create-agent.ts";
import { openTaskStore } from "./aws-engine.ts";
import { readWorkerEnvironment } from "./config/aws-environment.ts";
import { causeKind } from "./host/cause-kind.ts";
import { createExecutionWorker, type ExecutionWorker } from "./host/execution-worker.ts";
import { parseTaskMessage } from "./host/task-message.ts";

type Context = { getRemainingTimeInMillis(): number };
type BatchResponse = { batchItemFailures: { itemIdentifier: string }[] };
export type WorkerHandler = (event: unknown, context: Context) => Promise<BatchResponse>;

const eventSchema = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

/** What storing the outcome of an agent that was stopped may take before Lambda ends the function. */
const stopBeforeEndMs = 20_000;

/** `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. */
export function createExecutionWorkerHandler({
  config,
  createAgent,
}: {
  config: unknown;
  createAgent: CreateAgent;
}): WorkerHandler {
  const { execution } = parseConfig({ json: config });
  const { table, logLevel, aws } = readWorkerEnvironment();
  const log = createLog({ service: "execution", level: logLevel });
  const worker = createExecutionWorker({
    agent: createAgent(agentSurroundings(aws)),
    agentName: agentNameOf(execution.agent),
    store: openTaskStore({ table }),
    leaseMs: execution.leaseMs,
    lostAfterMs: execution.lostAfterMs,
    log,
  });
  return workerHandler({ worker, log });
}

/** A record that fails is named, and its message comes again; the others are finished. Throws for what is no SQS event. */
export function workerHandler({ worker, log }: { worker: ExecutionWorker; log: Log }): WorkerHandler {
  return async (event, context) => {
    const { Records: records } = eventSchema.parse(event);
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), context.getRemainingTimeInMillis() - stopBeforeEndMs);
    const runOne = async (body: string) => worker.run({ ...parseTaskMessage(body), signal: ending.signal });
    const results = await Promise.allSettled(records.map(({ body }) => runOne(body)));
    clearTimeout(timer);
    const batchItemFailures = records.flatMap(({ messageId: itemIdentifier }, index) => {
      const result = results[index];
      if (result?.status !== "rejected") return [];
      log.error("task_message_failed", { cause_kind: causeKind(result.reason) });
      return [{ itemIdentifier }];
    });
    return { batchItemFailures };
  };
}
