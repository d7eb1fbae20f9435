/** Sends dead letters to the queue again, and removes each from the archive once its message is there. */
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { taskTable } from "@sekisho/runtime/engine/aws/table.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { type AwsCall, callAws } from "../aws/aws-failure.ts";
import type { ParsedDeadLetter } from "./archive.ts";

/** Resolves to undefined where the task was never begun, or its record has expired. */
export type ReadTaskState = (request: { requestId: string }) => Promise<string | undefined>;

type Redrive = {
  deadLetters: readonly ParsedDeadLetter[];
  stateOfTask: ReadTaskState;
  send(request: { body: string; group: string | undefined }): Promise<void>;
  remove(deadLetter: ParsedDeadLetter): Promise<void>;
  /** Called for each request id whose message is in the queue. */
  done(request: { requestId: string; state: string | undefined }): void;
};

/** Sends one message per task, however many dead letters the task has. */
export async function redrive({
  deadLetters,
  stateOfTask,
  send,
  remove,
  done,
}: Redrive): Promise<void> {
  const byRequestId = Map.groupBy(deadLetters, ({ message }) => message?.requestId);
  for (const [requestId, ofTask] of byRequestId) {
    if (requestId === undefined) continue;
    const state = await stateOfTask({ requestId });
    const ask = ofTask.find(({ message }) => message?.type === "ask");
    // A task that was never begun starts with its own message. Any other continues from its record.
    const body =
      ask !== undefined && state === undefined
        ? ask.body
        : JSON.stringify({ type: "redrive", requestId });
    await send({ body, group: ofTask.map(readTenant).find((group) => group !== undefined) });
    for (const deadLetter of ofTask) await remove(deadLetter);
    done({ requestId, state });
  }
}

/** The message group, which is the tenant. */
function readTenant({ group, message }: ParsedDeadLetter): string | undefined {
  return group ?? (message?.type === "ask" ? message.message.team : undefined);
}

export function createSend({
  queueUrl,
  region,
  signal,
}: AwsCall & { queueUrl: string }): Redrive["send"] {
  const sqs = new SQSClient({
    region,
    customUserAgent: sdkUserAgent,
    useQueueUrlAsEndpoint: false,
  });
  return async ({ body, group }) => {
    const input = {
      QueueUrl: queueUrl,
      MessageBody: body,
      ...(group === undefined ? {} : { MessageGroupId: group }),
    };
    await callAws({
      doing: "send a message to the queue of tasks",
      signal,
      call: (options) => sqs.send(new SendMessageCommand(input), options),
    });
  };
}

/** Reads from the task table of a stage. */
export function createReadTaskState({
  tableName,
  region,
  signal,
}: AwsCall & { tableName: string }): ReadTaskState {
  const dynamo = new DynamoDBClient({ region, customUserAgent: sdkUserAgent });
  return async ({ requestId }) => {
    const command = new GetItemCommand({
      TableName: tableName,
      Key: { [taskTable.partitionKey]: { S: requestId } },
      ConsistentRead: true,
      // The task's texts are not read.
      ProjectionExpression: "id, #state",
      ExpressionAttributeNames: { "#state": "state" },
    });
    const { Item } = await callAws({
      doing: "look for a task's record",
      signal,
      call: (options) => dynamo.send(command, options),
    });
    return Item === undefined ? undefined : (Item.state?.S ?? "unknown");
  };
}
