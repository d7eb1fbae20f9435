/** The aws engine for both zones, on emulators of its services: per world a table for each zone and queues. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import type { DynamoDb, Sqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { Engine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import {
  emulatedAws,
  emulatorAccess,
  startDynamoDbEmulator,
  startSqsEmulator,
} from "../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../doubles/aws/emulators-resources.ts";

/** As in `limits.maxReceiveCount` of the configuration. */
const maxReceiveCount = 5;

export type AwsEngines = {
  /** Empty engines for one world. */
  open(): Promise<(zone: "verification" | "execution") => Engine>;
  close(): Promise<void>;
};

export async function startAwsEngines(): Promise<AwsEngines> {
  const [dynamoDb, sqs] = await Promise.all([startDynamoDbEmulator(), startSqsEmulator()]);
  const tables = new DynamoDBClient({ ...emulatorAccess, endpoint: dynamoDb.endpoint });
  const queues = new SQSClient({ ...emulatorAccess, endpoint: sqs.endpoint });
  const items: DynamoDb = createJsonClient({
    ...patient(emulatedAws(dynamoDb.endpoint)),
    service: "dynamodb",
  });
  const messages: Sqs = createJsonClient({ ...patient(emulatedAws(sqs.endpoint)), service: "sqs" });
  return {
    async open() {
      const names = {
        verification: await createTaskTable({ client: tables }),
        execution: await createTaskTable({ client: tables }),
      };
      const { queueUrl, deadLettersUrl } = await createQueuePair({
        client: queues,
        maxReceiveCount,
      });
      const { queueUrl: completionsUrl } = await createQueuePair({
        client: queues,
        maxReceiveCount,
      });
      return (zone) => ({
        taskStore: ({ parse }) =>
          createDynamoTaskStore({
            client: items,
            table: names[zone],
            parse,
            hasPrincipals: true,
            bucketOf: zone === "verification" ? toStateBucket : undefined,
          }),
        taskQueue: () => ({
          queue: createSqsQueue({ client: messages, queueUrl }),
          deadLetters: createSqsQueue({ client: messages, queueUrl: deadLettersUrl }),
        }),
        completions: () => createSqsQueue({ client: messages, queueUrl: completionsUrl }),
        close: async () => {},
      });
    },
    async close() {
      tables.destroy();
      queues.destroy();
      await Promise.all([dynamoDb.close(), sqs.close()]);
    },
  };
}

/** An emulator may answer late on a busy machine, and a retry would put a message in the queue twice. */
function patient(aws: AwsDependencies) {
  return {
    ...aws,
    timeoutMs: 120_000,
    attemptTimeoutMs: 60_000,
    maxResponseBytes: 8 * 1024 * 1024,
  };
}
