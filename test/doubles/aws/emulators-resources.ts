/** Creates tables and queues in the emulators as the stacks do, with unique names. */
import { randomUUID } from "node:crypto";
import { CreateTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CreateQueueCommand, GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { taskTable } from "@sekisho/runtime/engine/aws/table.ts";

/** Resolves to the name of an empty task table. */
export async function createTaskTable({ client }: { client: DynamoDBClient }): Promise<string> {
  const TableName = `tasks-${randomUUID()}`;
  const { partitionKey, shards, principals } = taskTable;
  const indexes = [shards, principals];
  const keys = [partitionKey, ...indexes.flatMap((index) => [index.partitionKey, index.sortKey])];
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: partitionKey, KeyType: "HASH" }],
      AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      GlobalSecondaryIndexes: indexes.map(({ indexName, ...index }) => ({
        IndexName: indexName,
        KeySchema: [
          { AttributeName: index.partitionKey, KeyType: "HASH" },
          { AttributeName: index.sortKey, KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      })),
    }),
  );
  return TableName;
}

/** A queue and its dead-letter queue. */
export async function createQueuePair({
  client,
  maxReceiveCount,
}: {
  client: SQSClient;
  maxReceiveCount: number;
}): Promise<{ queueUrl: string; deadLettersUrl: string }> {
  const QueueName = `tasks-${randomUUID()}`;
  const { QueueUrl: deadLettersUrl = "" } = await client.send(
    new CreateQueueCommand({ QueueName: `${QueueName}-dead` }),
  );
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: deadLettersUrl, AttributeNames: ["QueueArn"] }),
  );
  const RedrivePolicy = JSON.stringify({
    deadLetterTargetArn: Attributes?.QueueArn,
    maxReceiveCount,
  });
  const { QueueUrl: queueUrl = "" } = await client.send(
    new CreateQueueCommand({ QueueName, Attributes: { RedrivePolicy } }),
  );
  return { queueUrl, deadLettersUrl };
}
