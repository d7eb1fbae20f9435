/** Queries the index that spreads items over shards: one query for each shard, merged in order of creation. */
import type { DynamoDb } from "./client.ts";
import { listShardKeys, taskTable } from "./table.ts";

/** An item's id, and its sort key in the index. */
export type IndexEntry = { id: string; position: string };

/** The next page begins after `after`. */
export type EntryPage = { entries: IndexEntry[]; after: string; isLast: boolean };

const { indexName, partitionKey, sortKey } = taskTable.shards;
/** Sort keys begin with a digit, so all of them are between these two. */
const lowest = "/";
const highest = ":";

/** Finds all items of the bucket, which may have several states. Reads at most `limit` from each shard. */
export async function queryShards(request: {
  client: DynamoDb;
  table: string;
  bucket: string;
  after: string | undefined;
  limit: number;
  isNewestFirst?: boolean;
  signal: AbortSignal | undefined;
}): Promise<EntryPage> {
  const { client, table, bucket, after, limit, isNewestFirst = false, signal } = request;
  const start = after ?? (isNewestFirst ? highest : lowest);
  const pages = await Promise.all(
    listShardKeys(bucket).map(async (shard) => {
      const input = {
        TableName: table,
        IndexName: indexName,
        Limit: limit,
        ScanIndexForward: !isNewestFirst,
        KeyConditionExpression: `#shard = :shard AND #position ${isNewestFirst ? "<" : ">"} :after`,
        ExpressionAttributeNames: { "#shard": partitionKey, "#position": sortKey },
        ExpressionAttributeValues: { ":shard": { S: shard }, ":after": { S: start } },
      };
      const { Items = [], LastEvaluatedKey } = await client.call("Query", input, { signal });
      const entries = Items.map((item) => ({
        id: item.id?.S ?? "",
        position: item[sortKey]?.S ?? "",
      }));
      return { entries, isLast: LastEvaluatedKey === undefined };
    }),
  );
  const compareKeys = (one: string, other: string) => (one < other === isNewestFirst ? 1 : -1);
  const all = pages
    .flatMap(({ entries }) => entries)
    .sort((one, other) => compareKeys(one.position, other.position));
  // A shard with further entries may continue right after its last one, so the page ends at the earliest of these positions.
  const [horizon] = pages
    .flatMap(({ entries, isLast }) => (isLast ? [] : (entries.at(-1)?.position ?? start)))
    .sort(compareKeys);
  const entries =
    horizon === undefined
      ? all
      : all.filter(({ position }) => compareKeys(position, horizon) <= 0 || position === horizon);
  return {
    entries,
    after: horizon ?? entries.at(-1)?.position ?? start,
    isLast: horizon === undefined,
  };
}
