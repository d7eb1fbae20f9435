/** The tasks of a stage on AWS: its table and its queue, with the operator's own credentials. */
import { DynamoDBClient, paginateQuery } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { dynamoDbSettings, sqsSettings } from "../../lambdas/shared/engine/aws/client.ts";
import { taskTable } from "../../lambdas/shared/engine/aws/table.ts";
import { createSqsQueue } from "../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../lambdas/shared/engine/aws/task-store.ts";
import { callAws } from "../aws/aws-failure.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage } from "../aws/stage.ts";
import { newestInTable } from "./newest-aws.ts";
import type { TaskPlace } from "./place.ts";
import { parseStored } from "./stored-task.ts";

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openAwsPlace({
  config,
  stage,
  signal,
}: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<TaskPlace> {
  const named = chooseStage(config, stage);
  const { tableName, queueUrl } = await readStackOutputs({ ...named, signal });
  const { region } = named.stage.verification;
  const dynamo = new DynamoDBClient({ ...dynamoDbSettings, region });
  const sqs = new SQSClient({ ...sqsSettings, region });
  const store = createDynamoTaskStore({ client: dynamo, table: tableName, parse: parseStored, signal });
  const queue = createSqsQueue({ client: sqs, queueUrl, signal });
  const newest = newestInTable({ client: dynamo, table: tableName, signal });
  // Each call has a deadline of its own; a listing is many calls.
  const guarded = <T>(doing: string, call: () => Promise<T>) => callAws({ doing, signal, call });
  return {
    where: `in stage ${named.stageName}`,
    store: {
      get: (request) => guarded("read a task's record", () => store.get(request)),
      list: (request) => guarded("list tasks", () => store.list(request)),
    },
    queue: { send: (request) => guarded("send a message to the queue of tasks", () => queue.send(request)) },
    newestIds: (request) => guarded("list tasks", () => newest(request)),
    idsLike: ({ state, prefix }) =>
      guarded("look for a task by the beginning of its id", async () => {
        const ids: string[] = [];
        const query = likeQuery({ tableName, state, prefix });
        for await (const { Items = [] } of paginateQuery({ client: dynamo }, query, { abortSignal: signal })) {
          ids.push(...Items.map(({ id }) => id?.S ?? ""));
        }
        return ids;
      }),
    costOfSearch: "Looking through the stage's tasks of the last 30 days; a whole request id is found at once.",
    whyLater: () => undefined,
    async close() {
      dynamo.destroy();
      sqs.destroy();
    },
  };
}

/** Of the index alone, which has the ids: the records themselves are many times as large. */
function likeQuery({ tableName, state, prefix }: { tableName: string; state: string; prefix: string }) {
  return {
    TableName: tableName,
    IndexName: taskTable.indexNames.state,
    KeyConditionExpression: "#state = :state",
    FilterExpression: "begins_with(#id, :prefix)",
    ExpressionAttributeNames: { "#state": "state", "#id": taskTable.partitionKey },
    ExpressionAttributeValues: { ":state": { S: state }, ":prefix": { S: prefix } },
  };
}
