/** What the Execution zone keeps its tasks with on AWS: a table of DynamoDB and queues of SQS, its own and the other zone's. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { dynamoDbSettings, sqsSettings } from "../shared/engine/aws/client.ts";
import { createSqsQueue } from "../shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../shared/engine/aws/task-store.ts";
import type { TaskQueue, TaskStore } from "../shared/engine/ports.ts";
import { type ExecutionTask, parseExecutionTask } from "./host/execution-task.ts";

export function openTaskStore({ table }: { table: string }): TaskStore<ExecutionTask> {
  return createDynamoTaskStore({ client: new DynamoDBClient(dynamoDbSettings), table, parse: parseExecutionTask });
}

export function openTaskQueue({ queueUrl }: { queueUrl: string }): TaskQueue {
  return createSqsQueue({ client: new SQSClient(sqsSettings), queueUrl });
}

/** The Verification zone's completion queue, in the region that its address says. */
export function openCompletions({ queueUrl }: { queueUrl: string }): TaskQueue {
  const [, region] = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(queueUrl) ?? [];
  const client = new SQSClient({ ...sqsSettings, ...(region === undefined ? {} : { region }) });
  return createSqsQueue({ client, queueUrl });
}
