/** The Execution zone's engine on AWS: its DynamoDB table, its SQS queues, and the completion queue of the other zone. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { dynamoDbSettings, sqsSettings } from "../shared/engine/aws/client.ts";
import { createSqsQueue } from "../shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../shared/engine/aws/task-store.ts";
import type { TaskQueue, TaskStore } from "../shared/engine/ports.ts";
import { type ExecutionTask, parseExecutionTask } from "./tasks/execution-task.ts";
import { deriveCallerGroup } from "./tasks/task-message.ts";

export function openTaskStore({ table }: { table: string }): TaskStore<ExecutionTask> {
  const client = new DynamoDBClient(dynamoDbSettings);
  // The table has this index only if its zone serves A2A. Only A2A clients list tasks, so no other zone uses the index.
  return createDynamoTaskStore({ client, table, parse: parseExecutionTask, hasPrincipals: true });
}

export function openTaskQueue({ queueUrl }: { queueUrl: string }): TaskQueue {
  return createSqsQueue({ client: new SQSClient(sqsSettings), queueUrl });
}

/**
 * Separates the tasks of the Verification zone from those of all other callers. Each queue has its own concurrency, so that A2A clients
 * cannot keep a task of Slack waiting.
 */
export function createCallerQueue(queues: {
  verification: TaskQueue;
  clients: TaskQueue;
  /** The principal of the Verification zone. */
  principal: string;
}): TaskQueue {
  const ownGroup = deriveCallerGroup({ principal: queues.principal });
  return { send: (message) => (message.group === ownGroup ? queues.verification : queues.clients).send(message) };
}

/** The queue's address names its region, which may differ from the zone's own. */
export function openCompletionQueue({ queueUrl }: { queueUrl: string }): TaskQueue {
  const [, region] = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(queueUrl) ?? [];
  const client = new SQSClient({ ...sqsSettings, ...(region === undefined ? {} : { region }) });
  return createSqsQueue({ client, queueUrl });
}
