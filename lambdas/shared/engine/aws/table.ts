/** How a task table is laid out in DynamoDB: data for the stacks that create it and for the store that uses it. */
import { createHash } from "node:crypto";

/** All keys are strings, all indexes KEYS_ONLY. */
export const taskTable = {
  partitionKey: "id",
  /** Seconds since the epoch, from which on DynamoDB may remove the item. */
  ttlAttribute: "ttl",
  /** Every item, for the command line. Its key changes once in a task's life, when the task is over. */
  shards: { indexName: "by-shard", partitionKey: "shard", sortKey: "position" },
  /** The tasks of an A2A client. Only in a table whose zone lists them. */
  principals: { indexName: "by-principal", partitionKey: "principal", sortKey: "listed" },
} as const;

/** Keys of the installation flow, beside those of tasks, begin so. Its role may write no others. */
export const installKeyPrefix = "install#";

/** How many keys the items of one kind are spread over, so that no key takes all writes of a stage. */
export const shardCount = 8;

/** The states of a task that is not over, of both zones. Tasks move between them often, and there are few of them at a time. */
const openStates: ReadonlySet<string> = new Set([
  ...["received", "queued", "announced", "sent", "waiting", "asking", "delivering"],
  ...["submitted", "working", "input_required"],
]);

/** Items of one bucket are listed together. All open tasks are in one, so that a change of their state moves nothing. */
export function toStateBucket(state: string): string {
  return openStates.has(state) ? "open" : state;
}

export function listShardKeys(state: string): string[] {
  return Array.from({ length: shardCount }, (_, shard) => `${toStateBucket(state)}#${shard}`);
}

/** The same for all revisions of an item whose bucket is the same. */
export function toShardKey({ id, state }: { id: string; state: string }): string {
  const shard = createHash("sha256").update(id).digest().readUInt16BE(0) % shardCount;
  return `${toStateBucket(state)}#${shard}`;
}
