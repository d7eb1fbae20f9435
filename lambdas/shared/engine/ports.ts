/** The engine's two ports: a task store (compare-and-set on single items) and a task queue (at least once, with delay). */

/** The fields of every stored item. Times are milliseconds since the epoch; `revision` starts at 1 and grows by one per replace. */
export type TaskItem = {
  id: string;
  revision: number;
  state: string;
  /** Index keys; an item without one is not in that index. */
  thread?: string | undefined;
  principal?: string | undefined;
  /** Whole milliseconds. The index `principal` holds the items that have it beside a principal, newest first. */
  listedAtMs?: number | undefined;
  /** After this time the item counts as absent, whether it was removed already or not. */
  expiresAtMs: number;
};

export type StoreIndex = "thread" | "principal" | "state";

/** Strongly consistent, linearizable per item. Conditions on single items only, so that every engine can keep them. */
export type TaskStore<T extends TaskItem> = {
  get(request: { id: string }): Promise<T | undefined>;
  /** Stores the item as revision 1 if there is none with its id. Resolves to the stored item, or undefined if there was one. */
  create(request: { item: T }): Promise<T | undefined>;
  /** Stores the item as revision + 1 if the stored revision is `item.revision`. Resolves to the stored item, or undefined if it is not. */
  replace(request: { item: T }): Promise<T | undefined>;
  /**
   * Items of one index key. `thread` and `state`: in order of creation, oldest first. `principal`: by `listedAtMs`, newest
   * first, those of one moment by their ids, the greatest first; a replace with another `listedAtMs` moves the item, which
   * may then be missed or come twice in a listing that is under way.
   * `cursor` continues a listing and is opaque; throws RangeError where it is none of this store. May lag behind the last
   * writes by moments where the engine says so; each item that it returns is current. For the command line, and for the zone
   * that lists a principal's tasks: on AWS a listing without an index of its own reads the whole table.
   */
  list(request: {
    index: StoreIndex;
    key: string;
    cursor?: string;
    limit: number;
  }): Promise<{ items: T[]; cursor?: string }>;
};

/** A task store with `remove`, for commands that erase data. The zones themselves only let items expire. */
export type ErasableStore<T extends TaskItem> = TaskStore<T> & {
  /** Removes the item if the stored revision is `revision`. True where the item is gone afterwards, also where there was none. */
  remove(request: { id: string; revision: number }): Promise<boolean>;
};

/**
 * Durable when `send` resolves. `delayMs` 0 where absent; never comes earlier. `body` is text (JSON by convention), at most
 * 256 KiB. `group` names the tenant: an engine that can be fair lets no group's burst hold up the others.
 */
export type TaskQueue = {
  send(request: { body: string; delayMs?: number; group?: string }): Promise<void>;
};

export type ReceivedMessage = {
  body: string;
  /** Names this delivery; void once the visibility timeout has passed. */
  receipt: string;
  /** 1 at the first delivery. */
  receiveCount: number;
  sentAtMs: number;
};

/** The depth of one queue: how many due messages wait, and for how long the oldest has. */
export type QueueDepth = { queue: string; messages: number; oldestMs: number };

/** The receiving half of a queue: what a Lambda event source does in AWS and the local loop does on one machine. */
export type QueueConsumer = {
  /** Up to `max` visible messages, hidden from then on for `visibilityTimeoutMs`; waits up to `waitMs` for the first one. */
  receive(request: {
    max: number;
    visibilityTimeoutMs: number;
    waitMs: number;
    signal?: AbortSignal;
  }): Promise<ReceivedMessage[]>;
  /** Removes the message. Resolves to false if the receipt is void (the message was given to someone else meanwhile). */
  finish(request: { receipt: string }): Promise<boolean>;
};
