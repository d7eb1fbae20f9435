/** The tasks of a zone's store as the commands and the operators' page read them. */

import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { maxAgeMs } from "@sekisho/verification/task/time-limits.ts";
import * as z from "zod";

/** `store` and `queue` reject with errors whose messages say what to do. */
export type TaskZone = TaskListings & {
  /** Completes "There is no such task ...". */
  where: string;
  store: Pick<TaskStore<StoredTask>, "get" | "list">;
  queue: Pick<TaskQueue, "send">;
  /** The share of new traces that are kept, by the configuration. Absent: all. */
  sampleRatio?: () => number;
  close(): Promise<void>;
};

/** Listings that a task store does not have, or not at an acceptable cost. */
export type TaskListings = {
  /** The open tasks, oldest first, without those that cannot be read. Reads no further than the caller does. */
  openTasks(): AsyncGenerator<Task, void, undefined>;
  /** A page of the ids of the tasks in a state, newest first. `cursor` continues the listing. */
  newestIds(request: { state: string; cursor?: string | undefined; limit: number }): Promise<{
    ids: string[];
    cursor?: string;
  }>;
  /** The ids of all tasks that begin so. Other records may be among them. */
  findIdsByPrefix(prefix: string): Promise<string[]>;
  /** A warning for `findIdsByPrefix`; undefined where it costs next to nothing. */
  costOfSearch: string | undefined;
  /** Explains to a person why a message may be handled only later. Undefined if a worker is known to run. */
  describeDelay(): string | undefined;
};

/** The fields of the store itself, which every record has. */
const itemSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.string(),
  thread: z.string().optional(),
  principal: z.string().optional(),
  expiresAtMs: z.int(),
});

/** `task` is undefined if the record is not a task, is of another version, or had its data deleted. */
export type StoredTask = z.infer<typeof itemSchema> & { task: Task | undefined };

export function parseStored(json: unknown): StoredTask {
  const item = itemSchema.parse(json);
  return { ...item, task: isErased(item) ? undefined : taskSchema.safeParse(json).data };
}

/** Only a record whose data was deleted belongs to nobody. */
export function isErased({ principal }: Pick<StoredTask, "principal">): boolean {
  return principal === "";
}

/** Clocks differ, and a message may be delayed. */
const tombstoneMarginMs = 3600_000;

/**
 * Makes the record that remains of an erased task, without person, channel and text, so that a late delivery of its message does
 * not run it again. Undefined if the worker would refuse the message as too old anyway.
 */
export function createTombstone({ task, nowMs }: { task: Task; nowMs: number }): Task | undefined {
  const { id, revision, receivedAtMs, wakeSeq } = task;
  const expiresAtMs = receivedAtMs + maxAgeMs + tombstoneMarginMs;
  if (expiresAtMs <= nowMs) return undefined;
  return {
    ...{ id, revision, receivedAtMs, wakeSeq, expiresAtMs },
    ...{ state: "done", thread: "", principal: "", attempts: 0, history: [] },
    trace: { traceparent: `00-${"0".repeat(32)}-${"0".repeat(16)}-00` },
    message: { appId: "", team: "", channel: "", user: "", ts: "", direct: false, text: "" },
    ...{ cleanupDone: true, textsErased: true },
  };
}

/** A record of any kind: a task, a quota, an entry of the usage history of version 1.0.0. */
const recordSchema = z.looseObject({
  ...itemSchema.shape,
  listedAtMs: z.int().optional(),
  endedAtMs: z.int().optional(),
});
export type StoredRecord = z.infer<typeof recordSchema>;

export function parseRecord(json: unknown): StoredRecord {
  return recordSchema.parse(json);
}

/**
 * Merges listings that are each ordered by age, and reads each no further than necessary. A task that changes its state during
 * the listing comes once. Records without a task are left out.
 */
export async function* mergeOldestFirst(
  listings: AsyncGenerator<StoredTask, void, undefined>[],
): AsyncGenerator<Task> {
  const seenIds = new Set<string>();
  const heads = await Promise.all(
    listings.map(async (listing) => ({ listing, task: await nextTask(listing) })),
  );
  for (;;) {
    const waiting = heads.flatMap((head) =>
      head.task === undefined ? [] : [{ head, task: head.task }],
    );
    const [first] = waiting.sort((a, b) => a.task.receivedAtMs - b.task.receivedAtMs);
    if (first === undefined) return;
    if (!seenIds.has(first.task.id)) yield first.task;
    seenIds.add(first.task.id);
    first.head.task = await nextTask(first.head.listing);
  }
}

async function nextTask(
  listing: AsyncGenerator<StoredTask, void, undefined>,
): Promise<Task | undefined> {
  for (;;) {
    const { value, done } = await listing.next();
    if (done || value.task !== undefined) return value?.task;
  }
}
