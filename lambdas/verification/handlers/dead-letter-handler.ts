/** The entry for dead letters on Lambda: archives each message for an operator, and fails its task with a message to the user. */
import { randomUUID } from "node:crypto";
import type { Config } from "@sekisho/config/schema.ts";
import { createReadStageSecret } from "@sekisho/config/stage-secrets.ts";
import { openLambdaTelemetry } from "@sekisho/config/telemetry/lambda-telemetry.ts";
import {
  type BatchResponse,
  endingSignal,
  handleBatch,
  type InvocationContext,
  parseBatch,
  type SqsRecord,
} from "@sekisho/runtime/engine/aws/batch.ts";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createReadFormer, openSsm } from "../config/former-settings.ts";
import { parseStoredSettings, readSettings } from "../config/stored-settings.ts";
import { readDeadLetterEnvironment } from "../config/worker-environment.ts";
import { createPolicy } from "../gate/rules.ts";
import { toStateBucket } from "../task/buckets.ts";
import { parseTask } from "../task/task.ts";
import { createLiveConfig } from "../worker/live-config.ts";
import { createHandleDeadLetter } from "../worker/messages/dead-letter.ts";
import { readQueuedIds } from "../worker/messages/queued-ids.ts";

export type DeadLetterHandler = (
  event: unknown,
  context: Pick<InvocationContext, "getRemainingTimeInMillis">,
) => Promise<BatchResponse>;

/**
 * `config` is the stage's configuration. Throws at once if the environment is invalid. A message that fails here too stays in
 * the dead-letter queue and is delivered again after its visibility timeout.
 */
export function createDeadLetterHandler({
  config: deployedConfig,
}: {
  config: Config;
}): DeadLetterHandler {
  const { aws, logs, table, queueUrl, archiveUrl, formerSettings } = readDeadLetterEnvironment();
  const log = createLog({ service: "verification", ...logs });
  const sqs = openSqs(aws);
  const queue = createSqsQueue({ client: sqs, queueUrl });
  const archive = createSqsQueue({ client: sqs, queueUrl: archiveUrl });
  const client = openDynamoDb(aws);
  const store = createDynamoTaskStore({ client, table, parse: parseTask, bucketOf: toStateBucket });
  const settingsStore = createDynamoTaskStore({
    client,
    table,
    parse: parseStoredSettings,
    bucketOf: toStateBucket,
  });
  const readFormer = createReadFormer({ ssm: openSsm(aws), name: formerSettings });
  // Its role may create no records, so only the worker takes settings over.
  const readLiveSettings = async () =>
    (await readSettings({ store: settingsStore, readFormer })).settings;
  const live = createLiveConfig({ deployed: deployedConfig, read: readLiveSettings, log });
  const readSecret = createReadStageSecret(aws);
  const telemetry = openLambdaTelemetry({
    config: deployedConfig.telemetry,
    service: "verification",
    readSecret,
    aws,
    log,
  });
  const handlerFor = (settings: Config) =>
    createHandleDeadLetter({
      store,
      queue,
      policy: createPolicy({ config: settings }),
      leaseMs: settings.limits.leaseMs,
      log,
      telemetry,
      queueSystem: "aws_sqs",
      newId: randomUUID,
    });

  return async (event, context) => {
    const { signal, end } = endingSignal({ context });
    const handleDeadLetter = handlerFor(await live.current());
    const handleRecord = ({ body, group }: SqsRecord) => {
      const keep = () => archive.send({ body, ...(group === undefined ? {} : { group }) });
      return handleDeadLetter({ body, signal, keep });
    };
    const response = await handleBatch({
      batch: parseBatch(event),
      handle: handleRecord,
      queue,
      idsOf: readQueuedIds,
      log,
    });
    end();
    await Promise.all([live.waitForRead(), telemetry.flush()]);
    return response;
  };
}
