/** The newest tasks of a state in a stage's table: what listings of the store, oldest first, would reach last. */
import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { taskTable } from "../../lambdas/shared/engine/aws/table.ts";
import type { TaskPlace } from "./place.ts";

/** One query of the index alone, which has the ids: whoever knows a task already reads no record. */
export function newestInTable({
  client,
  table,
  signal,
}: {
  client: DynamoDBClient;
  table: string;
  signal: AbortSignal;
}): TaskPlace["newestIds"] {
  const sortKey = taskTable.indexSortKeys.state;
  return async ({ state, cursor, limit }) => {
    // Sort keys begin with a digit: all of them lie before this one.
    const before = cursor ?? ":";
    const command = new QueryCommand({
      TableName: table,
      IndexName: taskTable.indexNames.state,
      KeyConditionExpression: "#state = :state AND #sortKey < :before",
      ExpressionAttributeNames: { "#state": "state", "#sortKey": sortKey },
      ExpressionAttributeValues: { ":state": { S: state }, ":before": { S: before } },
      ScanIndexForward: false,
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await client.send(command, { abortSignal: signal });
    const ids = Items.map(({ id }) => id?.S ?? "");
    const last = Items.at(-1)?.[sortKey]?.S;
    return LastEvaluatedKey === undefined || last === undefined ? { ids } : { ids, cursor: last };
  };
}
