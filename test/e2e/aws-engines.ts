/** The aws engine for both zones, on emulators of its services: per world a table for each zone and queues. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { dynamoDbSettings, sqsSettings } from "../../lambdas/shared/engine/aws/client.ts";
import { createSqsQueue } from "../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../lambdas/shared/engine/aws/task-store.ts";
import type { Engine } from "../../lib/local/engine.ts";
import { emulatorAccess, startDynamoDbEmulator, startSqsEmulator } from "../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../doubles/aws/emulators-resources.ts";
import { patientHandler } from "../doubles/aws/patient-handler.ts";

/** As in `limits.maxReceiveCount` of the configuration. */
const maxReceiveCount = 5;

export type AwsEngines = {
  /** Empty engines for one world. */
  open(): Promise<(zone: "verification" | "execution") => Engine>;
  close(): Promise<void>;
};

export async function startAwsEngines(): Promise<AwsEngines> {
  const [dynamoDb, sqs] = await Promise.all([startDynamoDbEmulator(), startSqsEmulator()]);
  const access = () => ({ ...emulatorAccess, requestHandler: patientHandler() });
  const tables = new DynamoDBClient({ ...dynamoDbSettings, ...access(), endpoint: dynamoDb.endpoint });
  const queues = new SQSClient({ ...sqsSettings, ...access(), endpoint: sqs.endpoint });
  return {
    async open() {
      const names = {
        verification: await createTaskTable({ client: tables }),
        execution: await createTaskTable({ client: tables }),
      };
      const { queueUrl, deadLettersUrl } = await createQueuePair({ client: queues, maxReceiveCount });
      const { queueUrl: completionsUrl } = await createQueuePair({ client: queues, maxReceiveCount });
      return (zone) => ({
        taskStore: ({ parse }) => createDynamoTaskStore({ client: tables, table: names[zone], parse }),
        taskQueue: () => ({
          queue: createSqsQueue({ client: queues, queueUrl }),
          deadLetters: createSqsQueue({ client: queues, queueUrl: deadLettersUrl }),
        }),
        completions: () => createSqsQueue({ client: queues, queueUrl: completionsUrl }),
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
