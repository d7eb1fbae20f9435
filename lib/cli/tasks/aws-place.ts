/** Listings of the tasks in a stage's table: the open ones, the newest of a state, and those whose ids begin so. */
import { type DynamoDBClient, GetItemCommand, paginateQuery } from "@aws-sdk/client-dynamodb";
import { type IndexEntry, queryShards } from "../../../lambdas/shared/engine/aws/shard-query.ts";
import { listShardKeys, taskTable, toStateBucket } from "../../../lambdas/shared/engine/aws/table.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { OpenStage } from "../zone/open-zone.ts";
import { isOpen } from "./items.ts";
import type { TaskListings, TaskPlace } from "./stored-task.ts";

export function stageTasks({
  outputs: { tableName },
  client,
  guarded,
  store,
  signal,
}: Pick<OpenStage, "outputs" | "client" | "guarded"> & {
  store: TaskPlace["store"];
  signal: AbortSignal;
}): TaskListings {
  const read = async (id: string) => (await store.get({ id }))?.task;
  const newest = newestInTable({ client, table: tableName, signal });
  return {
    async *openTasks() {
      const listing = openInTable({ client, table: tableName, read, signal });
      try {
        for (;;) {
          const { value, done } = await guarded("list tasks", () => listing.next());
          if (done || value === undefined) return;
          yield value;
        }
      } finally {
        await listing.return();
      }
    },
    newestIds: (request) => guarded("list tasks", () => newest(request)),
    idsLike: ({ state, prefix }) =>
      guarded("look for a task by the beginning of its id", async () => {
        const ids: string[] = [];
        const queries = listShardKeys(state).map(async (shard) => {
          const query = likeQuery({ tableName, shard, prefix });
          for await (const { Items = [] } of paginateQuery({ client }, query, { abortSignal: signal }))
            ids.push(...Items.map(({ id }) => id?.S ?? ""));
        });
        await Promise.all(queries);
        return ids;
      }),
    costOfSearch: "Looking through the stage's tasks of the last 30 days; a whole request id is found at once.",
    whyLater: () => undefined,
  };
}

/** Of the index alone, which has the ids: the records themselves are many times as large. */
function likeQuery({ tableName, shard, prefix }: { tableName: string; shard: string; prefix: string }) {
  return {
    TableName: tableName,
    IndexName: taskTable.shards.indexName,
    KeyConditionExpression: "#shard = :shard",
    FilterExpression: "begins_with(#id, :prefix)",
    ExpressionAttributeNames: { "#shard": taskTable.shards.partitionKey, "#id": taskTable.partitionKey },
    ExpressionAttributeValues: { ":shard": { S: shard }, ":prefix": { S: prefix } },
  };
}

const pageSize = 50;

/** The index lists all open tasks together, so that each is read once. */
async function* openInTable({
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
function newestInTable({
  client,
  table,
  signal,
}: {
  client: DynamoDBClient;
  table: string;
  signal: AbortSignal;
}): TaskPlace["newestIds"] {
  async function isIn(state: string, { id }: IndexEntry): Promise<boolean> {
    if (toStateBucket(state) === state) return true;
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
    return found.length > limit && last !== undefined ? { ids, cursor: last.position } : { ids };
  };
}
