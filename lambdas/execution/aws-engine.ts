/** The Execution zone's engine on AWS: a DynamoDB table, and SQS queues of its own and of the other zone. */
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
  // Only A2A clients list, and a table whose zone serves them has the index.
  return createDynamoTaskStore({ client, table, parse: parseExecutionTask, hasPrincipals: true });
}

export function openTaskQueue({ queueUrl }: { queueUrl: string }): TaskQueue {
  return createSqsQueue({ client: new SQSClient(sqsSettings), queueUrl });
}

/**
 * One queue of tasks for the Verification zone, and one for all other callers, each with its own concurrency: whatever A2A
 * clients send, a task of Slack finds a free agent.
 */
export function createCallerQueue(queues: {
  verification: TaskQueue;
  clients: TaskQueue;
  /** The Verification zone, as the host names it. */
  principal: string;
}): TaskQueue {
  const ownGroup = deriveCallerGroup({ principal: queues.principal });
  return { send: (message) => (message.group === ownGroup ? queues.verification : queues.clients).send(message) };
}

/** The Verification zone's completion queue, in the region that its address says. */
export function openCompletionQueue({ queueUrl }: { queueUrl: string }): TaskQueue {
  const [, region] = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(queueUrl) ?? [];
  const client = new SQSClient({ ...sqsSettings, ...(region === undefined ? {} : { region }) });
  return createSqsQueue({ client, queueUrl });
}
