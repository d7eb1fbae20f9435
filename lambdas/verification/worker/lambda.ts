/** The worker's entry on Lambda: moves the tasks of a batch from SQS one step each, or wakes those that a completion push names. */
import { SQSClient } from "@aws-sdk/client-sqs";
import { sqsSettings } from "../../shared/engine/aws/client.ts";
import { createSqsQueue } from "../../shared/engine/aws/task-queue.ts";
import { createLog } from "../../shared/log.ts";
import { readWorkerEnvironment } from "../config/worker-environment.ts";
import { type BatchResponse, batchOf, handleBatch, type SqsRecord } from "./batch.ts";
import { InterruptedStep } from "./interrupted-step.ts";
import { endingSignal, type InvocationContext } from "./invocation.ts";
import { createRetryLater } from "./retry-later.ts";
import { createStageWorker } from "./stage-worker.ts";

export type WorkerHandler = (event: unknown, context: InvocationContext) => Promise<BatchResponse>;

/**
 * `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used.
 *
 * Where a record comes from says what it is, never what it says: another zone writes to the completion queue. What does not
 * come from the zone's own queue is a completion at most, and its attributes count for nothing, since a record with a delay
 * is sent on into the own queue.
 */
export function createWorkerHandler({ config }: { config: unknown }): WorkerHandler {
  const environment = readWorkerEnvironment();
  const { queueUrl, queueArn, logs } = environment;
  const log = createLog({ service: "verification", ...logs });
  const client = new SQSClient(sqsSettings);
  const queue = createSqsQueue({ client, queueUrl });
  const retryLater = createRetryLater({ client, queueUrl, log });
  const stage = createStageWorker({ config, environment, queue, log });
  const isOwn = ({ eventSourceARN }: SqsRecord) => eventSourceARN === queueArn;

  return async (event, context) => {
    const { signal, done } = endingSignal({ context });
    const worker = await stage.current();
    const response = await handleBatch({
      batch: batchOf(event).map((record) => (isOwn(record) ? record : { ...record, messageAttributes: {} })),
      handle: async (record) => {
        const message = { body: record.body, signal };
        await (isOwn(record) ? worker.handle(message) : worker.completion(message));
      },
      failed: async (record, reason) => {
        const notBeforeMs = reason instanceof InterruptedStep ? reason.leaseUntilMs : 0;
        if (isOwn(record)) await retryLater({ ...record, notBeforeMs });
      },
      queue,
      log,
    });
    done();
    await stage.settled();
    return response;
  };
}
