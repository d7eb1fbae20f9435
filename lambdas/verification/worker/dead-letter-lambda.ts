/** The entry for dead letters on Lambda: each task fails in words, and then its message is archived for an operator. */
import { SQSClient } from "@aws-sdk/client-sqs";
import { sqsSettings } from "../../shared/engine/aws/client.ts";
import { createSqsQueue } from "../../shared/engine/aws/task-queue.ts";
import { createLog } from "../../shared/log.ts";
import { readDeadLetterEnvironment } from "../config/worker-environment.ts";
import { type BatchResponse, batchOf, handleBatch, type SqsRecord } from "./batch.ts";
import { endingSignal, type InvocationContext } from "./invocation.ts";
import { createStageWorker } from "./stage-worker.ts";

export type DeadLetterHandler = (event: unknown, context: InvocationContext) => Promise<BatchResponse>;

/**
 * `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. A message that
 * fails here as well stays in the dead-letter queue and comes again after its visibility timeout.
 */
export function createDeadLetterHandler({ config }: { config: unknown }): DeadLetterHandler {
  const environment = readDeadLetterEnvironment();
  const log = createLog({ service: "verification", level: environment.logLevel });
  const client = new SQSClient(sqsSettings);
  const queue = createSqsQueue({ client, queueUrl: environment.queueUrl });
  const archive = createSqsQueue({ client, queueUrl: environment.archiveUrl });
  const stage = createStageWorker({ config, environment, queue, log });

  return async (event, context) => {
    const { signal, done } = endingSignal({ context });
    const worker = await stage.current();
    const bury = async ({ body, group }: SqsRecord) => {
      const isKept = await worker.deadLetter({ body, signal });
      if (isKept) await archive.send({ body, ...(group === undefined ? {} : { group }) });
    };
    const response = await handleBatch({ batch: batchOf(event), handle: bury, queue, log });
    done();
    await stage.settled();
    return response;
  };
}
