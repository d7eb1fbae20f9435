/** The Execution zone's engine on AWS: its DynamoDB table, its SQS queues, and the completion queue of the other zone. */
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { withRegion } from "@sekisho/runtime/aws/environment.ts";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type ConversationStore, parseConversationRecord } from "./tasks/conversation-record.ts";
import { type ExecutionTask, parseExecutionTask } from "./tasks/execution-task.ts";
import { deriveCallerGroup } from "./tasks/task-message.ts";
import { parseUsedToken, type UsedTokenStore } from "./tasks/used-token.ts";

export function openTaskStore({
  table,
  aws,
}: {
  table: string;
  aws: AwsDependencies;
}): TaskStore<ExecutionTask> {
  const client = openDynamoDb(aws);
  // The table has this index only if its zone serves A2A. Only A2A clients list tasks, so no other zone uses the index.
  return createDynamoTaskStore({ client, table, parse: parseExecutionTask, hasPrincipals: true });
}

/** The values that agents keep of conversations, in the table of the tasks. */
export function openConversations({
  table,
  aws,
}: {
  table: string;
  aws: AwsDependencies;
}): ConversationStore {
  return createDynamoTaskStore({
    client: openDynamoDb(aws),
    table,
    parse: parseConversationRecord,
  });
}

/** The tokens of askers that were used, in the table of the tasks. */
export function openUsedTokens({
  table,
  aws,
}: {
  table: string;
  aws: AwsDependencies;
}): UsedTokenStore {
  return createDynamoTaskStore({ client: openDynamoDb(aws), table, parse: parseUsedToken });
}

export function openTaskQueue({
  queueUrl,
  aws,
}: {
  queueUrl: string;
  aws: AwsDependencies;
}): TaskQueue {
  return createSqsQueue({ client: openSqs(aws), queueUrl });
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
  return {
    send: (message) =>
      (message.group === ownGroup ? queues.verification : queues.clients).send(message),
  };
}

/** The queue's address names its region, which may differ from the zone's own. */
export function openCompletionQueue({
  queueUrl,
  aws,
}: {
  queueUrl: string;
  aws: AwsDependencies;
}): TaskQueue {
  const [, region = aws.region] = /^https:\/\/sqs\.([a-z0-9-]+)\./.exec(queueUrl) ?? [];
  return createSqsQueue({ client: openSqs(withRegion({ aws, region })), queueUrl });
}
