/** How a task table is laid out in DynamoDB: data for the stacks that create it and for the store that uses it. */
import type { StoreIndex } from "../ports.ts";

/** Of every index the partition key is the attribute of its name; KEYS_ONLY. All keys are strings. */
export const taskTable = {
  partitionKey: "id",
  /** Seconds since the epoch, from which on DynamoDB may remove the item. */
  ttlAttribute: "ttl",
  indexNames: { thread: "by-thread", principal: "by-principal", state: "by-state" },
  indexSortKeys: { thread: "position", principal: "listed", state: "position" },
} as const satisfies {
  partitionKey: string;
  ttlAttribute: string;
  indexNames: Record<StoreIndex, string>;
  indexSortKeys: Record<StoreIndex, string>;
};

export const storeIndexes = ["thread", "principal", "state"] as const satisfies readonly StoreIndex[];
