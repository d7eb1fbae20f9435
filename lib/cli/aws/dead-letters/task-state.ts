/** What the task table says of a dead letter's task. */
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { taskTable } from "../../../../lambdas/shared/engine/aws/table.ts";
import { callAws } from "../aws-failure.ts";

/** Resolves to the task's state, or to undefined where the task was never begun (or its record has expired). */
export type ReadTaskState = (request: { requestId: string }) => Promise<string | undefined>;

export function createReadTaskState({
  tableName,
  region,
  signal,
}: {
  tableName: string;
  region: string;
  signal: AbortSignal;
}): ReadTaskState {
  const dynamo = new DynamoDBClient({ region });
  return async ({ requestId }) => {
    const command = new GetItemCommand({
      TableName: tableName,
      Key: { [taskTable.partitionKey]: { S: requestId } },
      ConsistentRead: true,
      // Its texts stay where they are.
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
