/** Pages of the index that spreads items over shards: one query for each shard, merged into the order of creation. */
import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { callLimits } from "./client.ts";
import { listShardKeys, taskTable } from "./table.ts";

/** An item's id, and its sort key in the index that it was found in. */
export type IndexEntry = { id: string; position: string };

/** `after` is where the next page begins. */
export type EntryPage = { entries: IndexEntry[]; after: string; isLast: boolean };

const { indexName, partitionKey, sortKey } = taskTable.shards;
/** Sort keys begin with a digit: all of them lie between these two. */
const lowest = "/";
const highest = ":";

/** Entries of all items in the state's bucket, which may have other states. At most `limit` from each shard. */
export async function queryShards({
  client,
  table,
  state,
  after,
  limit,
  isNewestFirst = false,
  signal,
}: {
  client: DynamoDBClient;
  table: string;
  state: string;
  after: string | undefined;
  limit: number;
  isNewestFirst?: boolean;
  signal: AbortSignal | undefined;
}): Promise<EntryPage> {
  const start = after ?? (isNewestFirst ? highest : lowest);
  const pages = await Promise.all(
    listShardKeys(state).map(async (shard) => {
      const command = new QueryCommand({
        TableName: table,
        IndexName: indexName,
        KeyConditionExpression: `#shard = :shard AND #position ${isNewestFirst ? "<" : ">"} :after`,
        ExpressionAttributeNames: { "#shard": partitionKey, "#position": sortKey },
        ExpressionAttributeValues: { ":shard": { S: shard }, ":after": { S: start } },
        ScanIndexForward: !isNewestFirst,
        Limit: limit,
      });
      const { Items = [], LastEvaluatedKey } = await client.send(command, callLimits({ signal }));
      const entries = Items.map((item) => ({ id: item.id?.S ?? "", position: item[sortKey]?.S ?? "" }));
      return { entries, isLast: LastEvaluatedKey === undefined };
    }),
  );
  const inOrder = (one: string, other: string) => (one < other === isNewestFirst ? 1 : -1);
  const all = pages.flatMap(({ entries }) => entries).sort((one, other) => inOrder(one.position, other.position));
  // Behind the last entry of a shard that has more, another entry of that shard may come first.
  const [horizon] = pages
    .flatMap(({ entries, isLast }) => (isLast ? [] : (entries.at(-1)?.position ?? start)))
    .sort(inOrder);
  const entries =
    horizon === undefined ? all : all.filter(({ position }) => inOrder(position, horizon) <= 0 || position === horizon);
  return { entries, after: horizon ?? entries.at(-1)?.position ?? start, isLast: horizon === undefined };
}
