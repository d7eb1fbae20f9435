/** The task store in a DynamoDB table: conditional writes of single items, consistent reads, listings by index. */
import { randomUUID } from "node:crypto";
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { readItem } from "../item-json.ts";
import type { ErasableStore, StoreIndex, TaskItem } from "../ports.ts";
import { callLimits } from "./client.ts";
import { type Attributes, attributesOf, isSortKey, liveData, positionOf } from "./record.ts";
import { storeIndexes, taskTable } from "./table.ts";

/**
 * The table is laid out as `taskTable` says; the client has `dynamoDbSettings`. `parse` gets what JSON.parse gives and
 * throws where that is no item. `signal` ends every call. Rejects with the SDK's error where DynamoDB cannot be reached: a
 * write may then be stored.
 */
export function createDynamoTaskStore<T extends TaskItem>({
  client,
  table,
  parse,
  signal,
  now = Date.now,
  newId = randomUUID,
}: {
  client: DynamoDBClient;
  table: string;
  parse: (json: unknown) => T;
  signal?: AbortSignal;
  now?: () => number;
  newId?: () => string;
}): ErasableStore<T> {
  let created = 0;

  async function read(id: string): Promise<Attributes | undefined> {
    const command = new GetItemCommand({ TableName: table, Key: { id: { S: id } }, ConsistentRead: true });
    return (await client.send(command, callLimits({ signal }))).Item;
  }

  function live(record: Attributes | undefined): T | undefined {
    const data = liveData({ record, nowMs: now() });
    return data === undefined ? undefined : readItem({ text: data, parse });
  }

  /** Sort keys of one index key after `after`, with the ids of their items; no more than `limit`. */
  async function query({ index, key, after, limit }: { index: StoreIndex; key: string; after: string; limit: number }) {
    const isNewestFirst = index === "principal";
    const sortKey = taskTable.indexSortKeys[index];
    const command = new QueryCommand({
      TableName: table,
      IndexName: taskTable.indexNames[index],
      KeyConditionExpression: `#key = :key AND #sortKey ${isNewestFirst ? "<" : ">"} :after`,
      ExpressionAttributeNames: { "#key": index, "#sortKey": sortKey },
      ExpressionAttributeValues: { ":key": { S: key }, ":after": { S: after } },
      ScanIndexForward: !isNewestFirst,
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await client.send(command, callLimits({ signal }));
    const entries = Items.map((entry) => ({ id: entry.id?.S ?? "", place: entry[sortKey]?.S ?? "" }));
    return { entries, isLast: LastEvaluatedKey === undefined };
  }

  return {
    async get({ id }) {
      return live(await read(id));
    },

    async create({ item }) {
      const stored = { ...item, revision: 1 };
      const writer = newId();
      created += 1;
      const position = positionOf({ nowMs: now(), count: created, id: writer });
      const command = new PutItemCommand({
        TableName: table,
        Item: { id: { S: item.id }, position: { S: position }, ...attributesOf({ item: stored, writer }) },
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
        ...updateTo(attributesOf({ item: stored, writer })),
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
      const found: { item: T; place: string }[] = [];
      // Sort keys begin with a digit: all of them lie between these two.
      let after = cursor ?? (index === "principal" ? ":" : "/");
      // One more than asked for tells whether there is a next page.
      for (let isLast = false; !isLast && found.length <= limit; ) {
        const page = await query({ index, key, after, limit: limit + 1 });
        const records = await Promise.all(page.entries.map(({ id }) => read(id)));
        for (const [number, { place }] of page.entries.entries()) {
          const record = records[number];
          // The index follows the items with a delay: what is returned is what the item itself says.
          const isThere = record?.[index]?.S === key && record[taskTable.indexSortKeys[index]]?.S === place;
          const item = isThere ? live(record) : undefined;
          if (item !== undefined) found.push({ item, place });
          after = place;
        }
        isLast = page.isLast;
      }
      const shown = found.slice(0, limit);
      const items = shown.map(({ item }) => item);
      const last = shown.at(-1);
      return found.length > limit && last !== undefined ? { items, cursor: last.place } : { items };
    },
  };
}

/** Sets all of the attributes and removes the keys of indexes that are not among them. */
function updateTo(attributes: Attributes) {
  const names = Object.keys(attributes);
  const gone = [...storeIndexes, taskTable.indexSortKeys.principal].filter((name) => attributes[name] === undefined);
  const set = names.map((name) => `#${name} = :${name}`).join(", ");
  return {
    UpdateExpression:
      gone.length === 0 ? `SET ${set}` : `SET ${set} REMOVE ${gone.map((name) => `#${name}`).join(", ")}`,
    ExpressionAttributeNames: Object.fromEntries([...names, ...gone].map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: Object.fromEntries(names.map((name) => [`:${name}`, attributes[name]])) as Attributes,
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
