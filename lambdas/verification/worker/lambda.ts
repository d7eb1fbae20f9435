/** The worker's entry on Lambda: moves the tasks of a batch from SQS one step each. */
import { SQSClient } from "@aws-sdk/client-sqs";
import { sqsSettings } from "../../shared/engine/aws/client.ts";
import { createSqsQueue } from "../../shared/engine/aws/task-queue.ts";
import { createLog } from "../../shared/log.ts";
import { readWorkerEnvironment } from "../config/worker-environment.ts";
import { type BatchResponse, batchOf, handleBatch } from "./batch.ts";
import { endingSignal, type InvocationContext } from "./invocation.ts";
import { createRetryLater } from "./retry-later.ts";
import { createStageWorker } from "./stage-worker.ts";

export type WorkerHandler = (event: unknown, context: InvocationContext) => Promise<BatchResponse>;

/** `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. */
export function createWorkerHandler({ config }: { config: unknown }): WorkerHandler {
  const environment = readWorkerEnvironment();
  const { queueUrl, logLevel } = environment;
  const log = createLog({ service: "verification", level: logLevel });
  const client = new SQSClient(sqsSettings);
  const queue = createSqsQueue({ client, queueUrl });
  const retryLater = createRetryLater({ client, queueUrl, log });
  const stage = createStageWorker({ config, environment, queue, log });

  return async (event, context) => {
    const { signal, done } = endingSignal({ context });
    const worker = await stage.current();
    const response = await handleBatch({
      batch: batchOf(event),
      handle: ({ body }) => worker.handle({ body, signal }),
      failed: retryLater,
      queue,
      log,
    });
    done();
    await stage.settled();
    return response;
  };
}
