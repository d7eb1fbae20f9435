/** The task store in a DynamoDB table: conditional writes, consistent reads, and listings by index. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../async/waiting.ts";
import { createId } from "../../unique-id.ts";
import type { ErasableStore, ItemWriter, StoreIndex, TaskItem } from "../ports.ts";
import { readItem, writeItem } from "../records.ts";
import {
  type DynamoDb,
  isInTransaction,
  isTransactionCanceled,
  type RecordAttributes,
  readConditionFailure,
  readPages,
} from "./client.ts";
import { type EntryPage, type IndexEntry, queryShards } from "./shard-query.ts";
import { type BucketOf, taskTable, toShardKey } from "./table.ts";

/**
 * The table needs the layout `taskTable`. `parse` throws if a value is not a valid item. `signal` ends
 * every call. Rejects with the client's error if DynamoDB is unavailable; a write may be stored then.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createDynamoTaskStore<T extends TaskItem>(options: {
  client: DynamoDb;
  table: string;
  parse: (json: unknown) => T;
  /** The table has the index of principals. Without it, such a listing reads the whole table. */
  hasPrincipals?: boolean;
  /**
   * Puts items into the index of shards. All stores that write to one table need the same function, because a replace takes an item without
   * a bucket out of the index. Default: no item is in the index, and a listing by state reads the whole table.
   */
  bucketOf?: BucketOf | undefined;
  signal?: AbortSignal;
  now?: () => number;
}): ErasableStore<T> & ItemWriter {
  const { client, table, parse, hasPrincipals = false, signal, now = Date.now } = options;
  const { bucketOf = () => undefined } = options;
  let createdCount = 0;

  async function readAttributes(id: string): Promise<RecordAttributes | undefined> {
    const input = { TableName: table, Key: { id: { S: id } }, ConsistentRead: true };
    return (await client.call("GetItem", input, { signal })).Item;
  }

  function live(record: RecordAttributes | undefined): T | undefined {
    const data = readLiveData({ record, nowMs: now() });
    return data === undefined ? undefined : readItem({ text: data, parse });
  }

  function creationOf<Item extends TaskItem>(item: Item) {
    const storedItem = { ...item, revision: 1 };
    const writer = createId();
    createdCount += 1;
    const position = formatPosition({ nowMs: now(), count: createdCount, id: writer });
    const content = {
      Item: {
        id: { S: item.id },
        position: { S: position },
        ...toRecordAttributes({ item: storedItem, bucket: bucketOf(item.state), writer }),
      },
    };
    const condition = {
      ConditionExpression: "attribute_not_exists(id) OR expiresAtMs <= :now",
      ExpressionAttributeValues: { ":now": { N: String(now()) } },
    };
    return { content, condition, storedItem, writer };
  }

  function replacementOf<Item extends TaskItem>(item: Item) {
    const storedItem = { ...item, revision: item.revision + 1 };
    const writer = createId();
    const { UpdateExpression, ExpressionAttributeNames, ExpressionAttributeValues } = updateTo(
      toRecordAttributes({ item: storedItem, bucket: bucketOf(item.state), writer }),
    );
    const content = { Key: { id: { S: item.id } }, UpdateExpression };
    const condition = {
      ConditionExpression: "#revision = :stored AND #expiresAtMs > :now",
      ExpressionAttributeNames,
      ExpressionAttributeValues: {
        ...ExpressionAttributeValues,
        ":stored": { N: String(item.revision) },
        ":now": { N: String(now()) },
      },
    };
    return { content, condition, storedItem, writer };
  }

  /** Newest first. */
  async function queryPrincipal({
    key,
    after,
    limit,
  }: {
    key: string;
    after: string | undefined;
    limit: number;
  }) {
    const { indexName, partitionKey, sortKey } = taskTable.principals;
    const input = {
      TableName: table,
      IndexName: indexName,
      Limit: limit,
      ScanIndexForward: false,
      KeyConditionExpression: "#key = :key AND #sortKey < :after",
      ExpressionAttributeNames: { "#key": partitionKey, "#sortKey": sortKey },
      // Sort keys begin with a digit, so all of them are before this one.
      ExpressionAttributeValues: { ":key": { S: key }, ":after": { S: after ?? ":" } },
    };
    const { Items = [], LastEvaluatedKey } = await client.call("Query", input, { signal });
    const entries = Items.map((entry) => ({
      id: entry.id?.S ?? "",
      position: entry[sortKey]?.S ?? "",
    }));
    return {
      entries,
      after: entries.at(-1)?.position ?? "",
      isLast: LastEvaluatedKey === undefined,
    };
  }

  /** Reads the whole table, for rare listings by an operator. */
  async function scan({
    index,
    key,
    after,
  }: {
    index: StoreIndex;
    key: string;
    after: string | undefined;
  }) {
    const sortKey = sortKeys[index];
    const isNewestFirst = index === "principal";
    const input = {
      TableName: table,
      ProjectionExpression: "#id, #position",
      FilterExpression: "#index = :key",
      ExpressionAttributeNames: {
        "#index": index,
        "#id": taskTable.partitionKey,
        "#position": sortKey,
      },
      ExpressionAttributeValues: { ":key": { S: key } },
      ConsistentRead: true,
    };
    const all: IndexEntry[] = [];
    for await (const { Items = [] } of readPages(client, { operation: "Scan", input }, { signal }))
      for (const item of Items)
        all.push({ id: item.id?.S ?? "", position: item[sortKey]?.S ?? "" });
    const isAhead = (position: string) =>
      after === undefined || (isNewestFirst ? position < after : position > after);
    const entries = all
      .filter(({ position }) => position !== "" && isAhead(position))
      .sort((one, other) => (one.position < other.position === isNewestFirst ? 1 : -1));
    return { entries, after: entries.at(-1)?.position ?? "", isLast: true };
  }

  /** Finds candidates of the listing after `after`, which may belong to other keys or may have moved. */
  function entriesOf(input: {
    index: StoreIndex;
    key: string;
    after: string | undefined;
    limit: number;
  }): Promise<EntryPage> {
    const { index, ...request } = input;
    const bucket = index === "state" ? bucketOf(request.key) : undefined;
    if (bucket !== undefined) return queryShards({ client, table, bucket, signal, ...request });
    return index === "principal" && hasPrincipals
      ? queryPrincipal(request)
      : scan({ index, ...request });
  }

  return {
    async get({ id }) {
      return live(await readAttributes(id));
    },

    async create({ item }) {
      const { content, condition, storedItem, writer } = creationOf(item);
      const input = { TableName: table, ...content, ...condition, ...returnsOld };
      return (await isWritten({ writer, write: () => client.call("PutItem", input, { signal }) }))
        ? storedItem
        : undefined;
    },

    async replace({ item }) {
      const { content, condition, storedItem, writer } = replacementOf(item);
      const input = { TableName: table, ...content, ...condition, ...returnsOld };
      return (await isWritten({
        writer,
        write: () => client.call("UpdateItem", input, { signal }),
      }))
        ? storedItem
        : undefined;
    },

    async writeTogether({ writes }) {
      const TransactItems = writes.map(({ type, item }) => {
        if (type === "create") {
          const { content, condition } = creationOf(item);
          return { Put: { ...content, TableName: table, ...condition } };
        }
        const { content, condition } = replacementOf(item);
        return { Update: { ...content, TableName: table, ...condition } };
      });
      // DynamoDB recognizes the repetition of a call whose answer was lost by the token.
      const input = { TransactItems, ClientRequestToken: createId() };
      try {
        await client.call("TransactWriteItems", input, { signal });
        return true;
      } catch (error) {
        if (isTransactionCanceled(error)) return false;
        throw error;
      }
    },

    async remove({ id, revision }) {
      const input = {
        TableName: table,
        Key: { id: { S: id } },
        ConditionExpression:
          "attribute_not_exists(id) OR #revision = :revision OR expiresAtMs <= :now",
        ExpressionAttributeNames: { "#revision": "revision" },
        ExpressionAttributeValues: {
          ":revision": { N: String(revision) },
          ":now": { N: String(now()) },
        },
      };
      try {
        await client.call("DeleteItem", input, { signal });
        return true;
      } catch (error) {
        if (readConditionFailure(error) !== undefined) return false;
        throw error;
      }
    },

    async scan({ cursor }) {
      const start = cursor !== undefined && { ExclusiveStartKey: { id: { S: cursor } } };
      const input = { TableName: table, ConsistentRead: true, ...start };
      const { Items = [], LastEvaluatedKey } = await client.call("Scan", input, { signal });
      const items = Items.flatMap((record) => live(record) ?? []);
      const next = LastEvaluatedKey?.id?.S;
      return next === undefined ? { items } : { items, cursor: next };
    },

    async list({ index, key, cursor, limit }) {
      if (cursor !== undefined && !isSortKey({ index, text: cursor }))
        throw new RangeError("not a cursor of this store");
      if (key === "") return { items: [] };
      const foundItems: { item: T; position: string }[] = [];
      const wantedCount = limit + 1;
      let startPosition = cursor;
      // One more item than requested shows whether there is a next page.
      for (let isLast = false; !isLast && foundItems.length < wantedCount; ) {
        const page = await entriesOf({ index, key, after: startPosition, limit: wantedCount });
        for (let next = 0; next < page.entries.length && foundItems.length < wantedCount; ) {
          const entries = page.entries.slice(next, next + wantedCount);
          next += entries.length;
          const records = await Promise.all(entries.map(({ id }) => readAttributes(id)));
          for (const [number, { position }] of entries.entries()) {
            const record = records[number];
            // An index lags behind the items, so the item itself decides.
            const isThere = record?.[index]?.S === key && record[sortKeys[index]]?.S === position;
            const item = isThere ? live(record) : undefined;
            if (item !== undefined) foundItems.push({ item, position });
          }
        }
        ({ after: startPosition, isLast } = page);
      }
      const pageItems = foundItems.slice(0, limit);
      const items = pageItems.map(({ item }) => item);
      const last = pageItems.at(-1);
      return foundItems.length > limit && last !== undefined
        ? { items, cursor: last.position }
        : { items };
    },
  };
}

/** Sets the attributes, and removes index keys that are not among them. */
function updateTo(attributes: RecordAttributes) {
  const names = Object.keys(attributes);
  const removedNames = [
    ...listingAttributes,
    sortKeys.principal,
    taskTable.shards.partitionKey,
  ].filter((name) => attributes[name] === undefined);
  const set = names.map((name) => `#${name} = :${name}`).join(", ");
  return {
    UpdateExpression:
      removedNames.length === 0
        ? `SET ${set}`
        : `SET ${set} REMOVE ${removedNames.map((name) => `#${name}`).join(", ")}`,
    ExpressionAttributeNames: Object.fromEntries(
      [...names, ...removedNames].map((name) => [`#${name}`, name]),
    ),
    ExpressionAttributeValues: Object.fromEntries(
      names.map((name) => [`:${name}`, attributes[name]]),
    ) as RecordAttributes,
  };
}

/**
 * Returns false if the condition failed. If the client repeated a write that was already stored, the condition fails on our own write, which
 * has our token and counts as written.
 */
async function isWritten({
  writer,
  write,
}: {
  writer: string;
  write: () => Promise<unknown>;
}): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    try {
      await write();
      return true;
    } catch (error) {
      const failure = readConditionFailure(error);
      if (failure !== undefined) return failure.Item?.writer?.S === writer;
      if (!isInTransaction(error) || attempt === maxConflicts) throw error;
      await sleep(
        conflictPause.baseMs + backoffMs({ ...conflictPause, attempt, random: Math.random }),
      );
    }
  }
}

/** A condition that fails returns the stored item, which names its writer. */
const returnsOld = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

/** A transaction ends within milliseconds, so a write that meets one on its item is repeated. */
const maxConflicts = 5;
const conflictPause = { baseMs: 10, capMs: 200 };

/** The keys of listings. A replace removes those that the item no longer has. */
const listingAttributes = ["thread", "principal", "state"] as const satisfies readonly StoreIndex[];

/** The sort key of each listing. */
const sortKeys = {
  thread: "position",
  principal: "listed",
  state: "position",
} as const satisfies Record<StoreIndex, string>;

/**
 * Converts an item to DynamoDB attributes: its JSON text, and attributes for conditions, indexes and expiry. Leaves out the id, and the
 * position unless the item has ended: a replace keeps both. `writer` identifies the write.
 */
export function toRecordAttributes({
  item,
  bucket,
  writer,
}: {
  item: TaskItem;
  bucket: string | undefined;
  writer: string;
}): RecordAttributes {
  const attributes: RecordAttributes = {
    revision: { N: String(item.revision) },
    data: { S: writeItem(item) },
    expiresAtMs: { N: String(item.expiresAtMs) },
    // DynamoDB removes an expired item later. Until then, readers check expiresAtMs.
    ttl: { N: String(Math.ceil(item.expiresAtMs / 1000)) },
    writer: { S: writer },
  };
  for (const name of listingAttributes) {
    const key = item[name];
    // An index key must not be empty.
    if (key) attributes[name] = { S: key };
  }
  if (bucket !== undefined) attributes.shard = { S: toShardKey({ id: item.id, bucket }) };
  if (item.listedAtMs !== undefined)
    attributes.listed = { S: formatListedKey({ listedAtMs: item.listedAtMs, id: item.id }) };
  if (item.endedAtMs !== undefined)
    attributes.position = {
      S: formatPosition({ nowMs: item.endedAtMs, count: 0, id: item.id }),
    };
  return attributes;
}

/** The item's JSON text, unless it has expired. */
function readLiveData(request: {
  record: RecordAttributes | undefined;
  nowMs: number;
}): string | undefined {
  const { record, nowMs } = request;
  return record !== undefined && Number(record.expiresAtMs?.N) > nowMs ? record.data?.S : undefined;
}

/** Sorts by the time of creation. Positions are unique, and exact within one process; between processes they depend on the clocks. */
export function formatPosition({
  nowMs,
  count,
  id,
}: {
  nowMs: number;
  count: number;
  id: string;
}): string {
  return `${padNumber(nowMs)}.${String(count).padStart(10, "0")}.${id}`;
}

/** A cursor for a listing by `state` of the items that were created, or have ended, at that time or later. */
export function cursorAt(atMs: number): string {
  return formatPosition({ nowMs: atMs, count: 0, id: "-" });
}

/** Sorts by the time and then by the id. */
function formatListedKey({ listedAtMs, id }: { listedAtMs: number; id: string }): string {
  return `${padNumber(listedAtMs)}.${id}`;
}

function padNumber(ms: number): string {
  return String(ms).padStart(15, "0");
}

const positionPattern = /^\d{15}\.\d{10}\.[\w-]{1,64}$/;
/** Within the limit of 1024 bytes for a sort key. */
const listedPattern = /^\d{15}\..{1,250}$/su;
const sortKeyPatterns: Record<StoreIndex, RegExp> = {
  thread: positionPattern,
  principal: listedPattern,
  state: positionPattern,
};

/** True if the text has the form of the index's sort key, so that a cursor of another store is refused. */
function isSortKey({ index, text }: { index: StoreIndex; text: string }): boolean {
  return sortKeyPatterns[index].test(text);
}
