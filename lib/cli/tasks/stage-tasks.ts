/** Lists the tasks in a stage's table. Queries the index, whose items hold only ids and keys and so are much smaller. */
import { readPages } from "@sekisho/runtime/engine/aws/client.ts";
import { type IndexEntry, queryShards } from "@sekisho/runtime/engine/aws/shard-query.ts";
import { listShardKeys, taskTable } from "@sekisho/runtime/engine/aws/table.ts";
import { openBucket, toStateBucket } from "@sekisho/verification/task/buckets.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { OpenStage } from "../zone/open-zone.ts";
import type { TaskListings, TaskZone } from "./stored-task.ts";

const pageSize = 50;

type StageListing = Pick<OpenStage, "outputs" | "client" | "guarded"> & {
  store: TaskZone["store"];
  signal: AbortSignal;
};

export function listStageTasks(options: StageListing): TaskListings {
  const { client, guarded, store, signal } = options;
  const { tableName: table } = options.outputs;

  async function* openTasks(): AsyncGenerator<Task, void, undefined> {
    let position: string | undefined;
    for (let isLast = false; !isLast && !signal.aborted; ) {
      const query = { client, table, bucket: openBucket, after: position, limit: pageSize, signal };
      const page = await guarded("list tasks", () => queryShards(query));
      const records = await Promise.all(page.entries.map(({ id }) => store.get({ id })));
      for (const record of records)
        if (record?.task !== undefined && record.task.state !== "done") yield record.task;
      ({ after: position, isLast } = page);
    }
  }

  /** Reads the state from the record for open tasks, because the index lists them all under one key. */
  async function isIn(state: string, { id }: IndexEntry): Promise<boolean> {
    if (toStateBucket(state) === state) return true;
    const input = {
      TableName: table,
      Key: { id: { S: id } },
      ConsistentRead: true,
      ProjectionExpression: "#state",
      ExpressionAttributeNames: { "#state": "state" },
    };
    return (await client.call("GetItem", input, { signal })).Item?.state?.S === state;
  }

  async function newestIds({ state, cursor, limit }: Parameters<TaskZone["newestIds"]>[0]) {
    const entries: IndexEntry[] = [];
    const bucket = toStateBucket(state) ?? state;
    let position = cursor;
    for (let isLast = false; !isLast && entries.length <= limit; ) {
      const page = await queryShards({
        client,
        table,
        bucket,
        after: position,
        limit: limit + 1,
        isNewestFirst: true,
        signal,
      });
      const isWanted = await Promise.all(page.entries.map((entry) => isIn(state, entry)));
      entries.push(...page.entries.filter((_, number) => isWanted[number]));
      ({ after: position, isLast } = page);
    }
    const shownEntries = entries.slice(0, limit);
    const ids = shownEntries.map(({ id }) => id);
    const last = shownEntries.at(-1);
    return entries.length > limit && last !== undefined ? { ids, cursor: last.position } : { ids };
  }

  async function idsInShard({
    shard,
    prefix,
  }: {
    shard: string;
    prefix: string;
  }): Promise<string[]> {
    const input = {
      TableName: table,
      IndexName: taskTable.shards.indexName,
      KeyConditionExpression: "#shard = :shard",
      FilterExpression: "begins_with(#id, :prefix)",
      ExpressionAttributeNames: {
        "#shard": taskTable.shards.partitionKey,
        "#id": taskTable.partitionKey,
      },
      ExpressionAttributeValues: { ":shard": { S: shard }, ":prefix": { S: prefix } },
    };
    const ids: string[] = [];
    for await (const { Items = [] } of readPages(
      client,
      { operation: "Query", input },
      { signal },
    )) {
      ids.push(...Items.map(({ id }) => id?.S ?? ""));
    }
    return ids;
  }

  return {
    openTasks,
    newestIds: (request) => guarded("list tasks", () => newestIds(request)),
    async findIdsByPrefix(prefix) {
      const ids: string[] = [];
      // Open tasks first, so that a task that ends during the search is not missed.
      for (const bucket of [openBucket, "done"]) {
        const search = () =>
          Promise.all(listShardKeys(bucket).map((shard) => idsInShard({ shard, prefix })));
        ids.push(...(await guarded("look for a task by the beginning of its id", search)).flat());
      }
      return ids;
    },
    costOfSearch: "Searching all tasks of the stage. A whole request id is found at once.",
    describeDelay: () => undefined,
  };
}
