/** The engine's two ports: a task store (compare-and-set on single items) and a task queue (at least once, with delays). */

/** The fields of every stored item. Times are milliseconds since the epoch. `revision` starts at 1 and grows by one with each replace. */
export type TaskItem = {
  id: string;
  revision: number;
  state: string;
  /** The keys of the indexes. An item without a key is not in that index. */
  thread?: string | undefined;
  principal?: string | undefined;
  /** Whole milliseconds. The index `principal` holds the items that have both, newest first. */
  listedAtMs?: number | undefined;
  /** Whole milliseconds. On AWS, the index `state` has an item with this by this time, and not by that of its creation. */
  endedAtMs?: number | undefined;
  /** After this time the item counts as absent, even if it is still stored. */
  expiresAtMs: number;
};

export type StoreIndex = "thread" | "principal" | "state";

/** Linearizable for each item. Conditions concern single items only, so that every engine can support them. */
export type TaskStore<T extends TaskItem> = {
  get(request: { id: string }): Promise<T | undefined>;
  /** Stores the item with revision 1 unless its id exists. Resolves to the stored item, or to undefined if it exists. */
  create(request: { item: T }): Promise<T | undefined>;
  /** Stores the item with the next revision if `item.revision` is current. Resolves to the stored item, or else to undefined. */
  replace(request: { item: T }): Promise<T | undefined>;
  /**
   * Lists the items of one index key: `thread` and `state` in order of creation, `principal` by `listedAtMs` and then by id, both
   * descending. A replace with another `listedAtMs` moves an item, so a listing under way may skip or repeat it. `cursor` continues a
   * listing; a cursor of another store is a RangeError. The list may lag behind the last writes, but each item in it is current. On AWS, a
   * listing without an index reads the whole table.
   */
  list(request: {
    index: StoreIndex;
    key: string;
    cursor?: string;
    limit: number;
  }): Promise<{ items: T[]; cursor?: string }>;
};

/** A write of one item, under the condition of the store's method of that name. */
export type ItemWrite = { type: "create" | "replace"; item: TaskItem };

/** Writes items of any kind, for a step that ends with several of them. */
export type ItemWriter = {
  /**
   * Does the writes, of different items, in one call, as if one after the other. Resolves to true if every condition held and all items are
   * stored. Otherwise the first ones may be stored, so the caller repeats each by itself: nothing may depend on all being stored together.
   */
  writeTogether(request: { writes: readonly ItemWrite[] }): Promise<boolean>;
};

/** A task store for commands that find and erase data. The zones themselves only let items expire. */
export type ErasableStore<T extends TaskItem> = TaskStore<T> & {
  /**
   * Reads a page of all items, in no order, for commands that must look at every item. `cursor` continues after the page before. An item that
   * stays in the store meanwhile is not missed, whatever happens to it. On AWS this reads the whole table.
   */
  scan(request: { cursor?: string | undefined }): Promise<{ items: T[]; cursor?: string }>;
  /** Removes the item if `revision` is current. Resolves to true if the item is gone, even if it did not exist before. */
  remove(request: { id: string; revision: number }): Promise<boolean>;
};

/**
 * A message is durable when `send` resolves, and does not arrive before `delayMs` (default 0). `body` is text of at most 256 KiB. `group`
 * names the tenant, so that a fair engine lets no group delay the others.
 */
export type TaskQueue = {
  send(request: { body: string; delayMs?: number; group?: string }): Promise<void>;
};

export type ReceivedMessage = {
  body: string;
  /** Identifies this delivery. Void after the visibility timeout. */
  receipt: string;
  /** 1 at the first delivery. */
  receiveCount: number;
  sentAtMs: number;
};

/** `messages` counts the due messages of a queue, and `oldestMs` is how long the oldest has been due. */
export type QueueDepth = { queue: string; messages: number; oldestMs: number };

/** The receiving side of a queue, which on AWS is a Lambda event source. */
export type QueueConsumer = {
  /** Returns up to `max` visible messages and hides them for `visibilityTimeoutMs`. Waits up to `waitMs` for the first one. */
  receive(request: {
    max: number;
    visibilityTimeoutMs: number;
    waitMs: number;
    signal?: AbortSignal;
  }): Promise<ReceivedMessage[]>;
  /** Removes the message. Resolves to false if the receipt is void, because the message was delivered again. */
  finish(request: { receipt: string }): Promise<boolean>;
};
