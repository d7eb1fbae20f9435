/** The tasks of a stage on AWS: its table and its queue, with the operator's own credentials. */
import { paginateQuery } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { sqsSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { shardKeysOf, taskTable } from "../../../lambdas/shared/engine/aws/table.ts";
import { createSqsQueue } from "../../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import { openStage } from "../aws/open-stage.ts";
import { newestInTable, openInTable } from "./newest-aws.ts";
import type { TaskPlace } from "./stored-task.ts";
import { parseStored } from "./stored-task.ts";

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openAwsPlace(request: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<TaskPlace> {
  const { stageName, outputs, region, client, guarded } = await openStage(request);
  const { signal } = request;
  const { tableName, queueUrl } = outputs;
  const sqs = new SQSClient({ ...sqsSettings, region });
  const store = createDynamoTaskStore({ client, table: tableName, parse: parseStored, signal });
  const queue = createSqsQueue({ client: sqs, queueUrl, signal });
  const read = async (id: string) => (await store.get({ id }))?.task;
  const newest = newestInTable({ client, table: tableName, signal });
  return {
    where: `in stage ${stageName}`,
    store: {
      get: (request) => guarded("read a task's record", () => store.get(request)),
      list: (request) => guarded("list tasks", () => store.list(request)),
    },
    queue: { send: (request) => guarded("send a message to the queue of tasks", () => queue.send(request)) },
    async *openTasks() {
      const listing = openInTable({ client, table: tableName, read, signal });
      try {
        for (;;) {
          const { value, done } = await guarded("list tasks", () => listing.next());
          if (done || value === undefined) return;
          yield value;
        }
      } finally {
        await listing.return();
      }
    },
    newestIds: (request) => guarded("list tasks", () => newest(request)),
    idsLike: ({ state, prefix }) =>
      guarded("look for a task by the beginning of its id", async () => {
        const ids: string[] = [];
        const queries = shardKeysOf(state).map(async (shard) => {
          const query = likeQuery({ tableName, shard, prefix });
          for await (const { Items = [] } of paginateQuery({ client }, query, { abortSignal: signal }))
            ids.push(...Items.map(({ id }) => id?.S ?? ""));
        });
        await Promise.all(queries);
        return ids;
      }),
    costOfSearch: "Looking through the stage's tasks of the last 30 days; a whole request id is found at once.",
    whyLater: () => undefined,
    async close() {
      client.destroy();
      sqs.destroy();
    },
  };
}

/** Of the index alone, which has the ids: the records themselves are many times as large. */
function likeQuery({ tableName, shard, prefix }: { tableName: string; shard: string; prefix: string }) {
  return {
    TableName: tableName,
    IndexName: taskTable.shards.indexName,
    KeyConditionExpression: "#shard = :shard",
    FilterExpression: "begins_with(#id, :prefix)",
    ExpressionAttributeNames: { "#shard": taskTable.shards.partitionKey, "#id": taskTable.partitionKey },
    ExpressionAttributeValues: { ":shard": { S: shard }, ":prefix": { S: prefix } },
  };
}
