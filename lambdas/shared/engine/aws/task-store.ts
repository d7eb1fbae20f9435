/** The task store in a DynamoDB table: conditional writes of single items, consistent reads, listings by index. */
import { randomUUID } from "node:crypto";
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateScan,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { ErasableStore, StoreIndex, TaskItem } from "../ports.ts";
import { readItem } from "../records.ts";
import { callLimits } from "./client.ts";
import {
  formatPosition,
  isSortKey,
  listingAttributes,
  type RecordAttributes,
  readLiveData,
  sortKeys,
  toRecordAttributes,
} from "./record.ts";
import { type EntryPage, type IndexEntry, queryShards } from "./shard-query.ts";
import { taskTable } from "./table.ts";

/**
 * The table is laid out as `taskTable` says; the client has `dynamoDbSettings`. `parse` gets what JSON.parse gives and
 * throws where that is no item. `signal` ends every call. Rejects with the SDK's error where DynamoDB cannot be reached: a
 * write may then be stored.
 */
export function createDynamoTaskStore<T extends TaskItem>({
  client,
  table,
  parse,
  hasPrincipals = false,
  signal,
  now = Date.now,
  newId = randomUUID,
}: {
  client: DynamoDBClient;
  table: string;
  parse: (json: unknown) => T;
  /** The table has the index of principals. Without it such a listing reads the whole table, as one by thread does. */
  hasPrincipals?: boolean;
  signal?: AbortSignal;
  now?: () => number;
  newId?: () => string;
}): ErasableStore<T> {
  let created = 0;

  async function read(id: string): Promise<RecordAttributes | undefined> {
    const command = new GetItemCommand({ TableName: table, Key: { id: { S: id } }, ConsistentRead: true });
    return (await client.send(command, callLimits({ signal }))).Item;
  }

  function live(record: RecordAttributes | undefined): T | undefined {
    const data = readLiveData({ record, nowMs: now() });
    return data === undefined ? undefined : readItem({ text: data, parse });
  }

  /** Newest first. */
  async function queryPrincipal({ key, after, limit }: { key: string; after: string | undefined; limit: number }) {
    const { indexName, partitionKey, sortKey } = taskTable.principals;
    const command = new QueryCommand({
      TableName: table,
      IndexName: indexName,
      KeyConditionExpression: "#key = :key AND #sortKey < :after",
      ExpressionAttributeNames: { "#key": partitionKey, "#sortKey": sortKey },
      // Sort keys begin with a digit: all of them lie before this one.
      ExpressionAttributeValues: { ":key": { S: key }, ":after": { S: after ?? ":" } },
      ScanIndexForward: false,
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await client.send(command, callLimits({ signal }));
    const entries = Items.map((entry) => ({ id: entry.id?.S ?? "", position: entry[sortKey]?.S ?? "" }));
    return { entries, after: entries.at(-1)?.position ?? "", isLast: LastEvaluatedKey === undefined };
  }

  /** Reads the whole table. For what an operator asks once in a while, and no zone does. */
  async function scan({ index, key, after }: { index: StoreIndex; key: string; after: string | undefined }) {
    const sortKey = sortKeys[index];
    const isNewestFirst = index === "principal";
    const input = {
      TableName: table,
      ConsistentRead: true,
      FilterExpression: "#index = :key",
      ProjectionExpression: "#id, #position",
      ExpressionAttributeNames: { "#index": index, "#id": taskTable.partitionKey, "#position": sortKey },
      ExpressionAttributeValues: { ":key": { S: key } },
    };
    const all: IndexEntry[] = [];
    for await (const { Items = [] } of paginateScan({ client }, input, callLimits({ signal })))
      for (const item of Items) all.push({ id: item.id?.S ?? "", position: item[sortKey]?.S ?? "" });
    const isAhead = (position: string) => after === undefined || (isNewestFirst ? position < after : position > after);
    const entries = all
      .filter(({ position }) => position !== "" && isAhead(position))
      .sort((one, other) => (one.position < other.position === isNewestFirst ? 1 : -1));
    return { entries, after: entries.at(-1)?.position ?? "", isLast: true };
  }

  /** Entries of the listing behind `after`. They may be of other items as well, and of items that have moved since. */
  function entriesOf({
    index,
    ...request
  }: {
    index: StoreIndex;
    key: string;
    after: string | undefined;
    limit: number;
  }): Promise<EntryPage> {
    if (index === "state") return queryShards({ client, table, state: request.key, signal, ...request });
    return index === "principal" && hasPrincipals ? queryPrincipal(request) : scan({ index, ...request });
  }

  return {
    async get({ id }) {
      return live(await read(id));
    },

    async create({ item }) {
      const stored = { ...item, revision: 1 };
      const writer = newId();
      created += 1;
      const position = formatPosition({ nowMs: now(), count: created, id: writer });
      const command = new PutItemCommand({
        TableName: table,
        Item: { id: { S: item.id }, position: { S: position }, ...toRecordAttributes({ item: stored, writer }) },
        ConditionExpression: "attribute_not_exists(id) OR expiresAtMs <= :now",
        ExpressionAttributeValues: { ":now": { N: String(now()) } },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      return (await isWritten({ writer, write: () => client.send(command, callLimits({ signal })) }))
        ? stored
        : undefined;
    },

    async replace({ item }) {
      const stored = { ...item, revision: item.revision + 1 };
      const writer = newId();
      const command = new UpdateItemCommand({
        TableName: table,
        Key: { id: { S: item.id } },
        ...updateTo(toRecordAttributes({ item: stored, writer })),
        ConditionExpression: "#revision = :stored AND #expiresAtMs > :now",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      Object.assign(command.input.ExpressionAttributeValues ?? {}, {
        ":stored": { N: String(item.revision) },
        ":now": { N: String(now()) },
      });
      return (await isWritten({ writer, write: () => client.send(command, callLimits({ signal })) }))
        ? stored
        : undefined;
    },

    async remove({ id, revision }) {
      const command = new DeleteItemCommand({
        TableName: table,
        Key: { id: { S: id } },
        ConditionExpression: "attribute_not_exists(id) OR #revision = :revision OR expiresAtMs <= :now",
        ExpressionAttributeNames: { "#revision": "revision" },
        ExpressionAttributeValues: { ":revision": { N: String(revision) }, ":now": { N: String(now()) } },
      });
      try {
        await client.send(command, callLimits({ signal }));
        return true;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return false;
        throw error;
      }
    },

    async list({ index, key, cursor, limit }) {
      if (cursor !== undefined && !isSortKey({ index, text: cursor }))
        throw new RangeError("not a cursor of this store");
      if (key === "") return { items: [] };
      const found: { item: T; position: string }[] = [];
      const wanted = limit + 1;
      let after = cursor;
      // One more than asked for tells whether there is a next page.
      for (let isLast = false; !isLast && found.length < wanted; ) {
        const page = await entriesOf({ index, key, after, limit: wanted });
        for (let next = 0; next < page.entries.length && found.length < wanted; ) {
          const entries = page.entries.slice(next, next + wanted);
          next += entries.length;
          const records = await Promise.all(entries.map(({ id }) => read(id)));
          for (const [number, { position }] of entries.entries()) {
            const record = records[number];
            // An index follows the items with a delay: what is returned is what the item itself says.
            const isThere = record?.[index]?.S === key && record[sortKeys[index]]?.S === position;
            const item = isThere ? live(record) : undefined;
            if (item !== undefined) found.push({ item, position });
          }
        }
        ({ after, isLast } = page);
      }
      const shown = found.slice(0, limit);
      const items = shown.map(({ item }) => item);
      const last = shown.at(-1);
      return found.length > limit && last !== undefined ? { items, cursor: last.position } : { items };
    },
  };
}

/** Sets all of the attributes and removes the keys of indexes that are not among them. */
function updateTo(attributes: RecordAttributes) {
  const names = Object.keys(attributes);
  const gone = [...listingAttributes, sortKeys.principal].filter((name) => attributes[name] === undefined);
  const set = names.map((name) => `#${name} = :${name}`).join(", ");
  return {
    UpdateExpression:
      gone.length === 0 ? `SET ${set}` : `SET ${set} REMOVE ${gone.map((name) => `#${name}`).join(", ")}`,
    ExpressionAttributeNames: Object.fromEntries([...names, ...gone].map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: Object.fromEntries(
      names.map((name) => [`:${name}`, attributes[name]]),
    ) as RecordAttributes,
  };
}

/**
 * False where the condition failed. An answer can be lost and the SDK then repeats a write that was stored: the condition
 * fails on what we wrote ourselves, which bears our token.
 */
async function isWritten({ writer, write }: { writer: string; write: () => Promise<unknown> }): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return error.Item?.writer?.S === writer;
    throw error;
  }
}
