/** A task item as attributes of DynamoDB: the item as JSON text, and the attributes for conditions, indexes and expiry. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { StoreIndex, TaskItem } from "../ports.ts";
import { writeItem } from "../records.ts";
import { toShardKey } from "./table.ts";

export type RecordAttributes = Record<string, AttributeValue>;

/** Attributes for listings. A replace removes those that the item no longer has. */
export const listingAttributes = ["thread", "principal", "state"] as const satisfies readonly StoreIndex[];

/** The attribute by which each listing is sorted. */
export const sortKeys = { thread: "position", principal: "listed", state: "position" } as const satisfies Record<
  StoreIndex,
  string
>;

/** Everything but the id and the position, which a replace leaves as they are. `writer` names the write. */
export function toRecordAttributes({ item, writer }: { item: TaskItem; writer: string }): RecordAttributes {
  const attributes: RecordAttributes = {
    revision: { N: String(item.revision) },
    data: { S: writeItem(item) },
    expiresAtMs: { N: String(item.expiresAtMs) },
    // DynamoDB removes what has expired some time later; until then readers look at expiresAtMs.
    ttl: { N: String(Math.ceil(item.expiresAtMs / 1000)) },
    writer: { S: writer },
  };
  for (const name of listingAttributes) {
    const key = item[name];
    // The key of an index must not be an empty text: such an item is in no listing.
    if (key) attributes[name] = { S: key };
  }
  attributes.shard = { S: toShardKey(item) };
  if (item.listedAtMs !== undefined)
    attributes.listed = { S: formatListedKey({ listedAtMs: item.listedAtMs, id: item.id }) };
  return attributes;
}

/** The JSON text of an item that has not expired. */
export function readLiveData({
  record,
  nowMs,
}: {
  record: RecordAttributes | undefined;
  nowMs: number;
}): string | undefined {
  return record !== undefined && Number(record.expiresAtMs?.N) > nowMs ? record.data?.S : undefined;
}

/**
 * Sorts by the time of creation, within one process by the order of creation; no two are the same. Between processes it
 * is as exact as their clocks.
 */
export function formatPosition({ nowMs, count, id }: { nowMs: number; count: number; id: string }): string {
  return `${padNumber(nowMs)}.${String(count).padStart(10, "0")}.${id}`;
}

/** Sorts by the time, then by the item's id; no two are the same. */
function formatListedKey({ listedAtMs, id }: { listedAtMs: number; id: string }): string {
  return `${padNumber(listedAtMs)}.${id}`;
}

function padNumber(ms: number): string {
  return String(ms).padStart(15, "0");
}

const positionPattern = /^\d{15}\.\d{10}\.[\w-]{1,64}$/;
/** Short enough for a sort key, which has 1024 bytes at most. */
const listedPattern = /^\d{15}\..{1,250}$/su;
const sortKeyPatterns: Record<StoreIndex, RegExp> = {
  thread: positionPattern,
  principal: listedPattern,
  state: positionPattern,
};

/** Whether the text can be a sort key of the index, so that a cursor of another store is refused. */
export function isSortKey({ index, text }: { index: StoreIndex; text: string }): boolean {
  return sortKeyPatterns[index].test(text);
}
