/** Where the Execution zone keeps its tasks on AWS: a table of DynamoDB and, where others run them, a queue of SQS. */
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
