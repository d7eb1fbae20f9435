/** Listings of a stage's table: the open tasks, and the newest tasks of a state, which the store would list last. */
import { type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { type IndexEntry, queryShards } from "../../../lambdas/shared/engine/aws/shard-query.ts";
import { bucketOf } from "../../../lambdas/shared/engine/aws/table.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { isOpen } from "./items.ts";
import type { TaskPlace } from "./stored-task.ts";

const pageSize = 50;

/** The index lists all open tasks together, so that each is read once. */
export async function* openInTable({
  client,
  table,
  read,
  signal,
}: {
  client: DynamoDBClient;
  table: string;
  read: (id: string) => Promise<Task | undefined>;
  signal: AbortSignal;
}): AsyncGenerator<Task, void, undefined> {
  let after: string | undefined;
  for (let isLast = false; !isLast && !signal.aborted; ) {
    const page = await queryShards({ client, table, state: "received", after, limit: pageSize, signal });
    const tasks = await Promise.all(page.entries.map(({ id }) => read(id)));
    for (const task of tasks) if (task !== undefined && isOpen(task)) yield task;
    ({ after, isLast } = page);
  }
}

/** Queries of the index alone, which has the ids. Only among open tasks each state is looked up. */
export function newestInTable({
  client,
  table,
  signal,
}: {
  client: DynamoDBClient;
  table: string;
  signal: AbortSignal;
}): TaskPlace["newestIds"] {
  async function isIn(state: string, { id }: IndexEntry): Promise<boolean> {
    if (bucketOf(state) === state) return true;
    const command = new GetItemCommand({
      TableName: table,
      Key: { id: { S: id } },
      ConsistentRead: true,
      ProjectionExpression: "#state",
      ExpressionAttributeNames: { "#state": "state" },
    });
    return (await client.send(command, { abortSignal: signal })).Item?.state?.S === state;
  }

  return async ({ state, cursor, limit }) => {
    const found: IndexEntry[] = [];
    let after = cursor;
    for (let isLast = false; !isLast && found.length <= limit; ) {
      const page = await queryShards({ client, table, state, after, limit: limit + 1, isNewestFirst: true, signal });
      const isWanted = await Promise.all(page.entries.map((entry) => isIn(state, entry)));
      found.push(...page.entries.filter((_, number) => isWanted[number]));
      ({ after, isLast } = page);
    }
    const shown = found.slice(0, limit);
    const ids = shown.map(({ id }) => id);
    const last = shown.at(-1);
    return found.length > limit && last !== undefined ? { ids, cursor: last.place } : { ids };
  };
}
