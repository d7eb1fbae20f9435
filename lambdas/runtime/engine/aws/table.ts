/** The layout of a task table in DynamoDB, for the stacks that create it and the store that uses it. */
import { createHash } from "node:crypto";

/** All keys are strings, all indexes KEYS_ONLY. */
export const taskTable = {
  partitionKey: "id",
  /** Seconds since the epoch after which DynamoDB may remove the item. */
  ttlAttribute: "ttl",
  /**
   * The items of each bucket, for the command line. The zone that uses the table says which items have a bucket (`BucketOf`). The others are
   * not in the index, because nobody lists them and every entry costs a write. Not in the table of an Execution zone.
   */
  shards: { indexName: "by-shard", partitionKey: "shard", sortKey: "position" },
  /** The tasks of A2A clients, and the tasks of people that are under way. Not in the table of an Execution zone without A2A. */
  principals: { indexName: "by-principal", partitionKey: "principal", sortKey: "listed" },
} as const;

/** The prefix of the installation flow's keys. Its role may write no others. */
export const installKeyPrefix = "install#";

/** Names the bucket of the items in a state: those that are listed together. Undefined for items that nobody lists by state. */
export type BucketOf = (state: string) => string | undefined;

/** The number of keys that share the items of one bucket, so that no key takes all writes. */
export const shardCount = 32;

export function listShardKeys(bucket: string): string[] {
  return Array.from({ length: shardCount }, (_, shard) => `${bucket}#${shard}`);
}

/** The key of an item in the index. It stays the same while the item stays in its bucket. */
export function toShardKey({ id, bucket }: { id: string; bucket: string }): string {
  return `${bucket}#${createHash("sha256").update(id).digest().readUInt16BE(0) % shardCount}`;
}
