/** The layout of a task table in DynamoDB, for the stacks that create it and the store that uses it. */
import { createHash } from "node:crypto";

/** All keys are strings, all indexes KEYS_ONLY. */
export const taskTable = {
  partitionKey: "id",
  /** Seconds since the epoch after which DynamoDB may remove the item. */
  ttlAttribute: "ttl",
  /**
   * The tasks of the Verification zone, and its usage history of version 1.0.0, for the command line. The key changes only when a task ends. Other items are not in
   * the index, because nobody lists them and every entry costs a write. Not in the table of an Execution zone.
   */
  shards: { indexName: "by-shard", partitionKey: "shard", sortKey: "position" },
  /** The tasks of A2A clients, and the tasks of people that are under way. Not in the table of an Execution zone without A2A. */
  principals: { indexName: "by-principal", partitionKey: "principal", sortKey: "listed" },
} as const;

/** The prefix of the installation flow's keys. Its role may write no others. */
export const installKeyPrefix = "install#";

/** The number of keys that share the items of one kind, so that no key takes all writes. */
export const shardCount = 32;

/** The states of tasks that are not over. Tasks change between them often, but few tasks are open at a time. */
const openStates: ReadonlySet<string> = new Set([
  ...["received", "queued", "announced", "sent", "waiting", "asking", "delivering"],
]);
export const openBucket = "open";

/**
 * Items of one bucket are listed together. All open tasks share one, so that a change of state does not move them. Undefined for items that are
 * not in the index.
 */
export function toStateBucket(state: string): string | undefined {
  if (openStates.has(state)) return openBucket;
  return state === "done" || state.startsWith("history/") ? state : undefined;
}

export function listShardKeys(bucket: string): string[] {
  return Array.from({ length: shardCount }, (_, shard) => `${bucket}#${shard}`);
}

/** The key stays the same while the item stays in its bucket. Undefined for an item that is not in the index. */
export function toShardKey({ id, state }: { id: string; state: string }): string | undefined {
  const bucket = toStateBucket(state);
  if (bucket === undefined) return undefined;
  return `${bucket}#${createHash("sha256").update(id).digest().readUInt16BE(0) % shardCount}`;
}
