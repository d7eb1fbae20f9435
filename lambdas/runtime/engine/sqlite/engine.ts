/** The task store and the task queue in one sqlite file. */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import type {
  ErasableStore,
  ItemWriter,
  QueueConsumer,
  QueueDepth,
  ReceivedMessage,
  StoreIndex,
  TaskItem,
  TaskQueue,
} from "../ports.ts";
import { readItem, writeItem } from "../records.ts";
import type { Database } from "./database.ts";

/** How many expired items one `create` removes. More than one, so that they cannot accumulate. */
const removedPerCreate = 2;
const scannedPerPage = 100;

/** `parse` throws if a value is not a valid item. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createSqliteTaskStore<T extends TaskItem>(options: {
  database: Database;
  parse: (json: unknown) => T;
  now?: () => number;
}): ErasableStore<T> & ItemWriter {
  const { database, parse, now = Date.now } = options;
  const selectItem = database.prepare("SELECT item FROM tasks WHERE id = ? AND expires_at_ms > ?");
  const insert = database.prepare(
    `INSERT INTO tasks (id, revision, state, thread, principal, listed_at_ms, expires_at_ms, item)
     VALUES (?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const update = database.prepare(
    `UPDATE tasks SET revision = revision + 1,
     state = ?, thread = ?, principal = ?, listed_at_ms = ?, expires_at_ms = ?, item = ? WHERE id = ? AND revision = ? AND expires_at_ms > ?`,
  );
  /** Leaves out the columns that a task keeps for its life, because sqlite writes the index of every column that a statement sets. */
  const updateState = database.prepare(
    `UPDATE tasks SET revision = revision + 1, state = ?, item = ? WHERE id = ? AND revision = ? AND expires_at_ms > ?
     AND thread IS ? AND principal IS ? AND listed_at_ms IS ? AND expires_at_ms = ?`,
  );
  const removeRevision = database.prepare(
    "DELETE FROM tasks WHERE id = ? AND (revision = ? OR expires_at_ms <= ?)",
  );
  const removeIfExpired = database.prepare("DELETE FROM tasks WHERE id = ? AND expires_at_ms <= ?");
  const removeSomeExpired = database.prepare(
    `DELETE FROM tasks WHERE seq IN
     (SELECT seq FROM tasks WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ${removedPerCreate})`,
  );
  const all = database.prepare(
    "SELECT seq, item FROM tasks WHERE seq > ? AND expires_at_ms > ? ORDER BY seq LIMIT ?",
  );
  const pages: Record<StoreIndex, Page> = {
    thread: oldestFirst({ database, index: "thread" }),
    principal: newestFirst({ database }),
    state: oldestFirst({ database, index: "state" }),
  };

  /** Must run inside a write, as the functions below. The item is the one to store, with its revision. */
  function insertItem({ id, columns }: StoredItem): boolean {
    if (insert.run(id, ...columns).changes === 1) return true;
    const isRemoved = removeIfExpired.run(id, now()).changes === 1;
    return isRemoved && insert.run(id, ...columns).changes === 1;
  }

  function updateItem({ id, revision, columns }: StoredItem): boolean {
    const [state, thread, principal, listedAtMs, expiresAtMs, text] = columns;
    const [last, nowMs] = [revision - 1, now()];
    return (
      updateState.run(state, text, id, last, nowMs, thread, principal, listedAtMs, expiresAtMs)
        .changes === 1 || update.run(...columns, id, last, nowMs).changes === 1
    );
  }

  return {
    async get({ id }) {
      const row = selectItem.get(id, now()) as { item: string } | undefined;
      return row === undefined ? undefined : readItem({ text: row.item, parse });
    },

    async create({ item }) {
      const newItem = { ...item, revision: 1 };
      const row = storedItem(newItem);
      const isCreated = await database.write(() => {
        removeSomeExpired.run(now());
        return insertItem(row);
      });
      return isCreated ? newItem : undefined;
    },

    async replace({ item }) {
      const newItem = { ...item, revision: item.revision + 1 };
      const row = storedItem(newItem);
      return (await database.write(() => updateItem(row))) ? newItem : undefined;
    },

    async writeTogether({ writes }) {
      const rows = writes.map(({ type, item }) => {
        const revision = type === "create" ? 1 : item.revision + 1;
        return { type, row: storedItem({ ...item, revision }) };
      });
      return database.write(() =>
        rows.every(({ type, row }) => (type === "create" ? insertItem(row) : updateItem(row))),
      );
    },

    remove: ({ id, revision }) =>
      database.write(() => {
        const nowMs = now();
        return (
          removeRevision.run(id, revision, nowMs).changes === 1 ||
          selectItem.get(id, nowMs) === undefined
        );
      }),

    async scan({ cursor = "0" }) {
      const rows = all.all(Number(cursor), now(), scannedPerPage) as {
        seq: number;
        item: string;
      }[];
      const items = rows.map((row) => readItem({ text: row.item, parse }));
      const last = rows.at(-1);
      return rows.length < scannedPerPage || last === undefined
        ? { items }
        : { items, cursor: String(last.seq) };
    },

    async list({ index, key, cursor, limit }) {
      // One more row than requested shows whether there is a next page.
      const rows = pages[index]({ key, cursor, nowMs: now(), limit: limit + 1 });
      const pageRows = rows.slice(0, limit);
      const items = pageRows.map((row) => readItem({ text: row.item, parse }));
      const last = pageRows.at(-1);
      return rows.length > limit && last !== undefined
        ? { items, cursor: last.position }
        : { items };
    },
  };
}

type StoredItem = { id: string; revision: number; columns: Columns };

/** State, thread, principal, listed at, expires at, and the item as text. */
type Columns = [string, string | null, string | null, number | null, number, string];

/** Converts to text at once, so that later changes of the object are not stored. */
function storedItem(item: TaskItem): StoredItem {
  const {
    id,
    revision,
    state,
    thread = null,
    principal = null,
    listedAtMs = null,
    expiresAtMs,
  } = item;
  return {
    id,
    revision,
    columns: [state, thread, principal, listedAtMs, expiresAtMs, writeItem(item)],
  };
}

/** `position` is the cursor that continues after this row. */
type Row = { position: string; item: string };

/** Throws RangeError for a cursor of another index. */
type Page = (request: {
  key: string;
  cursor: string | undefined;
  nowMs: number;
  limit: number;
}) => Row[];

/** In the order of creation. */
function oldestFirst({ database, index }: { database: Database; index: "thread" | "state" }): Page {
  const select = database.prepare(
    `SELECT CAST(seq AS TEXT) AS position, item FROM tasks
     WHERE ${index} = ? AND seq > ? AND expires_at_ms > ? ORDER BY seq LIMIT ?`,
  );
  return ({ key, cursor = "0", nowMs, limit }) => {
    if (!/^\d{1,15}$/.test(cursor)) throw createForeignCursorError();
    return select.all(key, Number(cursor), nowMs, limit) as Row[];
  };
}

/** Sorts by `listedAtMs` and then by id. `IS NOT NULL` lets sqlite use the partial index. */
function newestFirst({ database }: { database: Database }): Page {
  const select = database.prepare(
    `SELECT listed_at_ms || '.' || id AS position, item FROM tasks
     WHERE principal = ? AND listed_at_ms IS NOT NULL AND (listed_at_ms, id) < (?, ?) AND expires_at_ms > ?
     ORDER BY listed_at_ms DESC, id DESC LIMIT ?`,
  );
  return ({ key, cursor = `${Number.MAX_SAFE_INTEGER}.`, nowMs, limit }) => {
    const [, listedAtMs, id] = /^(\d{1,16})\.(.*)$/s.exec(cursor) ?? [];
    if (listedAtMs === undefined || id === undefined) throw createForeignCursorError();
    return select.all(key, Number(listedAtMs), id, nowMs, limit) as Row[];
  };
}

function createForeignCursorError(): RangeError {
  return new RangeError("not a cursor of this store");
}

const maxBodyBytes = 256 * 1024;
/** The longest delay until a message is noticed that another process sent. */
const pollMs = 200;

type QueuedRow = { seq: number; body: string; sent_at_ms: number; receive_count: number };

/**
 * `name` identifies the queue. A message that is due again after `maxReceiveCount` deliveries moves to `deadLetterQueue`, another name in
 * the same file; without one it keeps coming back. `send` throws `payload_too_large`. `receive` returns nothing when its signal aborts.
 */
export function createSqliteQueue(options: {
  database: Database;
  name: string;
  maxReceiveCount?: number;
  deadLetterQueue?: string;
  now?: () => number;
}): TaskQueue & QueueConsumer {
  const { database, name, maxReceiveCount = 5, deadLetterQueue, now = Date.now } = options;
  const { changeSignal } = database;
  const insert = database.prepare(
    "INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES (?, ?, ?, ?)",
  );
  const nextDue = database.prepare(
    "SELECT MIN(visible_at_ms) AS at_ms FROM messages WHERE queue = ?",
  );
  const selectDue = database.prepare(
    `SELECT seq, body, sent_at_ms, receive_count FROM messages
     WHERE queue = ? AND visible_at_ms <= ? ORDER BY visible_at_ms, seq LIMIT ?`,
  );
  const hide = database.prepare(
    "UPDATE messages SET visible_at_ms = ?, receive_count = receive_count + 1 WHERE seq = ?",
  );
  const bury = database.prepare(
    "UPDATE messages SET queue = ?, visible_at_ms = ?, receive_count = 0 WHERE seq = ?",
  );
  const remove = database.prepare(
    "DELETE FROM messages WHERE seq = ? AND receive_count = ? AND queue = ? AND visible_at_ms > ?",
  );

  // A power cut that undoes a claim or a removal ends all receivers of the file, and the message comes again, as after a crash.
  const losable = { isSynced: false };

  /** Must run inside a write. */
  function claimDue({ max, visibilityTimeoutMs }: { max: number; visibilityTimeoutMs: number }): {
    messages: ReceivedMessage[];
    buriedCount: number;
  } {
    const nowMs = now();
    const messages: ReceivedMessage[] = [];
    let buriedCount = 0;
    for (const row of selectDue.all(name, nowMs, max) as QueuedRow[]) {
      if (deadLetterQueue !== undefined && row.receive_count >= maxReceiveCount) {
        bury.run(deadLetterQueue, nowMs, row.seq);
        buriedCount += 1;
        continue;
      }
      const receiveCount = row.receive_count + 1;
      hide.run(nowMs + visibilityTimeoutMs, row.seq);
      // Identifies the delivery, because each delivery of a message has another count.
      const receipt = `${row.seq}.${receiveCount}`;
      messages.push({ body: row.body, receipt, receiveCount, sentAtMs: row.sent_at_ms });
    }
    return { messages, buriedCount };
  }

  return {
    async send({ body, delayMs = 0 }) {
      if (Buffer.byteLength(body) > maxBodyBytes) throw new SekishoError("payload_too_large");
      await database.write(() => {
        const nowMs = now();
        insert.run(name, body, nowMs, nowMs + Math.ceil(delayMs));
      });
      changeSignal.ring(name);
    },

    async receive({ max, visibilityTimeoutMs, waitMs, signal }) {
      const endAtMs = now() + waitMs;
      while (!signal?.aborted) {
        const nowMs = now();
        // A plain read, so that an idle queue takes no lock.
        const dueAtMs = (nextDue.get(name)?.at_ms ?? Number.POSITIVE_INFINITY) as number;
        if (dueAtMs <= nowMs) {
          const { messages, buriedCount } = await database.write(
            () => claimDue({ max, visibilityTimeoutMs }),
            losable,
          );
          if (buriedCount > 0 && deadLetterQueue !== undefined) changeSignal.ring(deadLetterQueue);
          if (messages.length > 0) return messages;
        } else {
          if (nowMs >= endAtMs) return [];
          await changeSignal.wait({
            name,
            ms: Math.min(pollMs, dueAtMs - nowMs, endAtMs - nowMs),
            signal,
          });
        }
      }
      return [];
    },

    async finish({ receipt }) {
      const [seq = "", receiveCount = ""] = receipt.split(".");
      return database.write(
        () => remove.run(Number(seq), Number(receiveCount), name, now()).changes === 1,
        losable,
      );
    },
  };
}

/** Counts due messages. A message that was received or is delayed does not count. */
export function createQueueDepths(options: {
  database: Database;
  names: readonly string[];
}): () => QueueDepth[] {
  const { database, names } = options;
  const due = database.prepare(
    "SELECT COUNT(*) AS messages, MIN(visible_at_ms) AS since_ms FROM messages WHERE queue = ? AND visible_at_ms <= ?",
  );
  return () => {
    const nowMs = Date.now();
    return names.map((queue) => {
      const { messages, since_ms } = due.get(queue, nowMs) as {
        messages: number;
        since_ms: number | null;
      };
      return { queue, messages, oldestMs: nowMs - (since_ms ?? nowMs) };
    });
  };
}
