/**
 * DynamoDB in memory, for a load run: one task table with its indexes, and the capacity that each call uses, by partition key. The items are
 * in sqlite, so that they are not in the heap of JavaScript. Indexes follow at once, and nothing is throttled.
 */
import { DatabaseSync } from "node:sqlite";
import type {
  DeleteItemInput,
  GetItemInput,
  PutItemInput,
  QueryInput,
  ScanInput,
  TransactWriteItemsInput,
  UpdateItemInput,
} from "@aws-sdk/client-dynamodb";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import type { DynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { taskTable } from "@sekisho/runtime/engine/aws/table.ts";
import {
  applyUpdate,
  type Item,
  invalid,
  isTrue,
  readValue,
  requireAllUsed,
} from "./dynamodb-expressions.ts";

/** `place` is `table` or the name of an index. Units are those of the pricing: 1 KB of a write, 4 KB of a consistent read. */
export type CapacityUse = { place: string; key: string; writes: number; reads: number };

type Write = Pick<
  PutItemInput,
  "ConditionExpression" | "ExpressionAttributeNames" | "ExpressionAttributeValues"
> & {
  id: string;
  expressions: (string | undefined)[];
  /** Undefined removes the item. */
  next: (oldValue: Item | undefined) => Item | undefined;
};

type Index = typeof taskTable.shards | typeof taskTable.principals;
const maxItemBytes = 400 * 1024;
const maxPageBytes = 1024 * 1024;
const maxKeyBytes = { partition: 2048, sort: 1024 };

/** A client of the only table there is. `onUse` gets the capacity of each call, also of one whose condition fails. */
export function openCountingDynamoDb({
  hasPrincipals = false,
  onUse = () => {},
}: {
  /** The table has the index of principals, as that of a zone that serves A2A. */
  hasPrincipals?: boolean;
  onUse?: (use: CapacityUse) => void;
} = {}): { client: DynamoDb; close(): void } {
  const indexes: Index[] = [taskTable.shards, ...(hasPrincipals ? [taskTable.principals] : [])];
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE items (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID");
  const select = database.prepare("SELECT json FROM items WHERE id = ?");
  const selectAll = database.prepare("SELECT json FROM items");
  const upsert = database.prepare(
    "INSERT INTO items VALUES (?, ?) ON CONFLICT DO UPDATE SET json = excluded.json",
  );
  const remove = database.prepare("DELETE FROM items WHERE id = ?");

  function find(id: string): Item | undefined {
    const row = select.get(id);
    return row === undefined ? undefined : (JSON.parse(String(row.json)) as Item);
  }

  function isHeld({ id, expressions, ConditionExpression, ...placeholders }: Write): boolean {
    requireAllUsed(placeholders, [...expressions, ConditionExpression]);
    return ConditionExpression === undefined || isTrue(ConditionExpression, find(id), placeholders);
  }

  /** A write of a transaction uses twice the units of its item. */
  function apply(
    { id, next }: Write,
    { times = 1, held }: { times?: number; held: boolean },
  ): void {
    const before = find(id);
    const after = held ? next(before) : before;
    if (after !== undefined) requireValid(after, indexes);
    const writes = times * Math.max(1, Math.ceil(Math.max(sizeOf(before), sizeOf(after)) / 1024));
    onUse({ place: "table", key: id, writes, reads: 0 });
    if (!held) return;
    if (after === undefined) remove.run(id);
    else upsert.run(id, JSON.stringify(after));
    for (const index of indexes) countIndexWrites(index, before, after);
  }

  /** An entry has keys only. It is written when it appears, disappears or moves, which is both. */
  function countIndexWrites(
    index: Index,
    oldValue: Item | undefined,
    newValue: Item | undefined,
  ): void {
    const [left, entered] = [entryOf(index, oldValue), entryOf(index, newValue)];
    if (left?.key === entered?.key && left?.sort === entered?.sort) return;
    for (const entry of [left, entered])
      if (entry !== undefined)
        onUse({ place: index.indexName, key: entry.key, writes: 1, reads: 0 });
  }

  function write(request: Write, returnsOld: boolean): object {
    const held = isHeld(request);
    apply(request, { held });
    if (held) return {};
    const item = returnsOld ? find(request.id) : undefined;
    throw new AwsCallError({
      name: "ConditionalCheckFailedException",
      status: 400,
      ...(item && { item }),
    });
  }

  function transact({ TransactItems = [] }: TransactWriteItemsInput): object {
    const writes = TransactItems.map(({ Put, Update }) => {
      if (Put !== undefined) return putOf(Put as PutItemInput);
      if (Update !== undefined) return updateOf(Update as UpdateItemInput);
      throw invalid("the double does not know this write");
    });
    if (new Set(writes.map(({ id }) => id)).size < writes.length)
      throw invalid("two writes of one item");
    const held = writes.map(isHeld);
    const isDone = held.every(Boolean);
    for (const request of writes) apply(request, { times: 2, held: isDone });
    if (isDone) return {};
    throw new AwsCallError({ name: "TransactionCanceledException", status: 400 });
  }

  function get({ Key, ConsistentRead }: GetItemInput): object {
    // A read that may be stale would be cheaper, and wrong for a task.
    if (ConsistentRead !== true) throw invalid("the read may be stale");
    const id = idOf(Key);
    const item = find(id);
    onUse({
      place: "table",
      key: id,
      writes: 0,
      reads: Math.max(1, Math.ceil(sizeOf(item) / 4096)),
    });
    return item === undefined ? {} : { Item: item };
  }

  function matching(isMatch: (item: Item) => boolean): Item[] {
    return selectAll
      .all()
      .map(({ json }) => JSON.parse(String(json)) as Item)
      .filter(isMatch);
  }

  function query({
    IndexName,
    KeyConditionExpression = "",
    Limit,
    ScanIndexForward,
    ...input
  }: QueryInput): object {
    requireAllUsed(input, [KeyConditionExpression]);
    const index = indexes.find(({ indexName }) => indexName === IndexName);
    if (index === undefined) throw invalid("there is no such index");
    const { partitionKey, sortKey } = index;
    const sign = ScanIndexForward === false ? -1 : 1;
    const entries = matching(
      (item) => entryOf(index, item) !== undefined && isTrue(KeyConditionExpression, item, input),
    ).sort((one, other) => ((one[sortKey]?.S ?? "") < (other[sortKey]?.S ?? "") ? -sign : sign));
    const [, name = ""] = /= (:\w+)/.exec(KeyConditionExpression) ?? [];
    onUse({ place: index.indexName, key: readValue(name, input).S ?? "", writes: 0, reads: 1 });
    const page = entries.slice(0, Limit).map(({ id, ...item }) => ({
      ...(id && { id }),
      [partitionKey]: item[partitionKey],
      [sortKey]: item[sortKey],
    }));
    return { Items: page, ...(page.length < entries.length && { LastEvaluatedKey: page.at(-1) }) };
  }

  /** A page ends after 1 MB that is read, whatever the filter leaves of it. */
  function scan({
    FilterExpression,
    ProjectionExpression,
    ExclusiveStartKey,
    ...input
  }: ScanInput): object {
    requireAllUsed(input, [FilterExpression, ProjectionExpression]);
    const start = ExclusiveStartKey?.id?.S ?? "";
    const rest = matching(({ id }) => (id?.S ?? "") > start).sort((one, other) =>
      idOf(one) < idOf(other) ? -1 : 1,
    );
    let bytes = 0;
    const page = rest.filter((item) => {
      const isRead = bytes <= maxPageBytes;
      if (isRead) bytes += sizeOf(item);
      return isRead;
    });
    onUse({ place: "table", key: "scan", writes: 0, reads: Math.max(1, Math.ceil(bytes / 4096)) });
    const Items = page.filter(
      (item) => FilterExpression === undefined || isTrue(FilterExpression, item, input),
    );
    const last = page.at(-1);
    return {
      Items,
      ...(page.length < rest.length && last && { LastEvaluatedKey: { id: last.id } }),
    };
  }

  const operations = {
    GetItem: get,
    PutItem: (input: PutItemInput) =>
      write(putOf(input), input.ReturnValuesOnConditionCheckFailure === "ALL_OLD"),
    UpdateItem: (input: UpdateItemInput) =>
      write(updateOf(input), input.ReturnValuesOnConditionCheckFailure === "ALL_OLD"),
    DeleteItem: (input: DeleteItemInput) =>
      write({ ...input, id: idOf(input.Key), expressions: [], next: () => undefined }, false),
    TransactWriteItems: transact,
    Query: query,
    Scan: scan,
  };
  const client: DynamoDb = {
    call: async (operation, input) => operations[operation](input as never),
  };
  return { client, close: () => database.close() };
}

function putOf({ Item: item = {}, ...rest }: PutItemInput): Write {
  return { ...rest, id: idOf(item), expressions: [], next: () => item };
}

function updateOf({ Key, UpdateExpression = "", ...rest }: UpdateItemInput): Write {
  const next = (oldValue: Item | undefined) =>
    applyUpdate(UpdateExpression, oldValue ?? { ...Key }, rest);
  return { ...rest, id: idOf(Key), expressions: [UpdateExpression], next };
}

function idOf(key: Item | undefined): string {
  const id = key?.[taskTable.partitionKey]?.S;
  if (!id || Buffer.byteLength(id) > maxKeyBytes.partition)
    throw invalid("the key is missing, empty or too long");
  return id;
}

function entryOf({ partitionKey, sortKey }: Index, item: Item | undefined) {
  const [key, sort] = [item?.[partitionKey]?.S, item?.[sortKey]?.S];
  return key === undefined || sort === undefined ? undefined : { key, sort };
}

function requireValid(item: Item, indexes: readonly Index[]): void {
  if (sizeOf(item) > maxItemBytes) throw invalid("the item is too large");
  for (const { partitionKey, sortKey } of indexes)
    for (const [name, most] of [
      [partitionKey, maxKeyBytes.partition],
      [sortKey, maxKeyBytes.sort],
    ] as const) {
      const value = item[name];
      if (value !== undefined && (!value.S || Buffer.byteLength(value.S) > most))
        throw invalid(`${name} cannot be a key`);
    }
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html */
function sizeOf(item: Item | undefined): number {
  return Object.entries(item ?? {}).reduce((bytes, [name, { S, N }]) => {
    if (S === undefined && N === undefined)
      throw invalid("the double stores texts and numbers only");
    return (
      bytes +
      Buffer.byteLength(name) +
      (S === undefined ? Math.ceil((N ?? "").length / 2) + 1 : Buffer.byteLength(S))
    );
  }, 0);
}
