/** The entry for dead letters on Lambda: each message is archived for an operator, and its task fails in words. */
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
  const log = createLog({ service: "verification", ...environment.logs });
  const client = new SQSClient(sqsSettings);
  const queue = createSqsQueue({ client, queueUrl: environment.queueUrl });
  const archive = createSqsQueue({ client, queueUrl: environment.archiveUrl });
  const stage = createStageWorker({ config, environment, queue, log });

  return async (event, context) => {
    const { signal, done } = endingSignal({ context });
    const worker = await stage.current();
    const bury = ({ body, group }: SqsRecord) => {
      const keep = () => archive.send({ body, ...(group === undefined ? {} : { group }) });
      return worker.deadLetter({ body, signal, keep });
    };
    const response = await handleBatch({ batch: batchOf(event), handle: bury, queue, log });
    done();
    await stage.settled();
    return response;
  };
}
