/** The task store and the task queue in one sqlite file. */

import { SekishoError } from "../../../../contracts/errors.ts";
import type {
  ErasableStore,
  QueueConsumer,
  QueueDepth,
  ReceivedMessage,
  StoreIndex,
  TaskItem,
  TaskQueue,
} from "../ports.ts";
import { readItem, writeItem } from "../records.ts";
import type { Database } from "./database.ts";

/** Expired items that one `create` removes; more than it adds, so that they cannot pile up. */
const removedPerCreate = 2;

/** `parse` gets what JSON.parse gives and throws where that is no item. */
export function createSqliteTaskStore<T extends TaskItem>({
  database,
  parse,
  now = Date.now,
}: {
  database: Database;
  parse: (json: unknown) => T;
  now?: () => number;
}): ErasableStore<T> {
  const read = database.prepare("SELECT item FROM tasks WHERE id = ? AND expires_at_ms > ?");
  const insert = database.prepare(
    `INSERT INTO tasks (id, revision, state, thread, principal, listed_at_ms, expires_at_ms, item)
     VALUES (?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const update = database.prepare(
    `UPDATE tasks SET revision = revision + 1,
     state = ?, thread = ?, principal = ?, listed_at_ms = ?, expires_at_ms = ?, item = ? WHERE id = ? AND revision = ? AND expires_at_ms > ?`,
  );
  const removeRevision = database.prepare("DELETE FROM tasks WHERE id = ? AND (revision = ? OR expires_at_ms <= ?)");
  const removeIfExpired = database.prepare("DELETE FROM tasks WHERE id = ? AND expires_at_ms <= ?");
  const removeSomeExpired = database.prepare(
    `DELETE FROM tasks WHERE seq IN
     (SELECT seq FROM tasks WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ${removedPerCreate})`,
  );
  const pages = createPages({ database });

  return {
    async get({ id }) {
      const row = read.get(id, now()) as { item: string } | undefined;
      return row === undefined ? undefined : readItem({ text: row.item, parse });
    },

    async create({ item }) {
      const stored = { ...item, revision: 1 };
      const columns = columnsOf(stored);
      const isCreated = await database.write(() => {
        const nowMs = now();
        removeSomeExpired.run(nowMs);
        const isInserted = () => insert.run(item.id, ...columns).changes === 1;
        return isInserted() || (removeIfExpired.run(item.id, nowMs).changes === 1 && isInserted());
      });
      return isCreated ? stored : undefined;
    },

    async replace({ item }) {
      const stored = { ...item, revision: item.revision + 1 };
      const columns = columnsOf(stored);
      const isReplaced = await database.write(
        () => update.run(...columns, item.id, item.revision, now()).changes === 1,
      );
      return isReplaced ? stored : undefined;
    },

    remove: ({ id, revision }) =>
      database.write(() => {
        const nowMs = now();
        return removeRevision.run(id, revision, nowMs).changes === 1 || read.get(id, nowMs) === undefined;
      }),

    async list({ index, key, cursor, limit }) {
      // One more than asked for tells whether there is a next page.
      const rows = pages[index]({ key, cursor, nowMs: now(), limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const items = shown.map((row) => readItem({ text: row.item, parse }));
      const last = shown.at(-1);
      return rows.length > limit && last !== undefined ? { items, cursor: last.position } : { items };
    },
  };
}

/** Text is made at the call, so that what the caller does to the object afterwards is not stored. */
function columnsOf(item: TaskItem): (string | number | null)[] {
  const { state, thread = null, principal = null, listedAtMs = null, expiresAtMs } = item;
  return [state, thread, principal, listedAtMs, expiresAtMs, writeItem(item)];
}

/** `place` is the cursor by which the rows after this one are read. */
type Row = { position: string; item: string };

/** Throws RangeError where `cursor` is none of the index; without one the page is the first. */
type Page = (request: { key: string; cursor: string | undefined; nowMs: number; limit: number }) => Row[];

function createPages({ database }: { database: Database }): Record<StoreIndex, Page> {
  return {
    thread: oldestFirst({ database, index: "thread" }),
    principal: newestFirst({ database }),
    state: oldestFirst({ database, index: "state" }),
  };
}

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

/** By the time that the items say themselves, then by id. `IS NOT NULL` lets sqlite see that the partial index is enough. */
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
/** How late a message from another process, or one whose time has come, may be noticed. */
const pollMs = 200;

type QueuedRow = { seq: number; body: string; sent_at_ms: number; receive_count: number };

/**
 * Queues are told apart by `name`. A message that was received `maxReceiveCount` times and is due again moves to
 * `deadLetterQueue`, another name in the same file; without one it comes back for ever.
 * `send` throws `payload_too_large`; `receive` resolves to nothing when its signal aborts.
 */
export function createSqliteQueue({
  database,
  name,
  maxReceiveCount = 5,
  deadLetterQueue,
  now = Date.now,
}: {
  database: Database;
  name: string;
  maxReceiveCount?: number;
  deadLetterQueue?: string;
  now?: () => number;
}): TaskQueue & QueueConsumer {
  const { changeSignal } = database;
  const insert = database.prepare("INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES (?, ?, ?, ?)");
  const nextDue = database.prepare("SELECT MIN(visible_at_ms) AS at_ms FROM messages WHERE queue = ?");
  const selectDue = database.prepare(
    `SELECT seq, body, sent_at_ms, receive_count FROM messages
     WHERE queue = ? AND visible_at_ms <= ? ORDER BY visible_at_ms, seq LIMIT ?`,
  );
  const hide = database.prepare(
    "UPDATE messages SET visible_at_ms = ?, receive_count = receive_count + 1 WHERE seq = ?",
  );
  const bury = database.prepare("UPDATE messages SET queue = ?, visible_at_ms = ?, receive_count = 0 WHERE seq = ?");
  const remove = database.prepare(
    "DELETE FROM messages WHERE seq = ? AND receive_count = ? AND queue = ? AND visible_at_ms > ?",
  );

  /** Inside a write. */
  function claimDue({ max, visibilityTimeoutMs }: { max: number; visibilityTimeoutMs: number }): {
    messages: ReceivedMessage[];
    buried: number;
  } {
    const nowMs = now();
    const messages: ReceivedMessage[] = [];
    let buried = 0;
    for (const row of selectDue.all(name, nowMs, max) as QueuedRow[]) {
      if (deadLetterQueue !== undefined && row.receive_count >= maxReceiveCount) {
        bury.run(deadLetterQueue, nowMs, row.seq);
        buried += 1;
        continue;
      }
      const receiveCount = row.receive_count + 1;
      hide.run(nowMs + visibilityTimeoutMs, row.seq);
      // Names the delivery: in one queue a message is never given out twice with the same count.
      const receipt = `${row.seq}.${receiveCount}`;
      messages.push({ body: row.body, receipt, receiveCount, sentAtMs: row.sent_at_ms });
    }
    return { messages, buried };
  }

  return {
    async send({ body, delayMs = 0 }) {
      if (Buffer.byteLength(body) > maxBodyBytes) throw new SekishoError("payload_too_large");
      await database.write(() => {
        const nowMs = now();
        insert.run(name, body, nowMs, nowMs + delayMs);
      });
      changeSignal.ring(name);
    },

    async receive({ max, visibilityTimeoutMs, waitMs, signal }) {
      const endAtMs = now() + waitMs;
      while (!signal?.aborted) {
        const nowMs = now();
        // A plain read, so that an idle queue takes no lock and writes nothing.
        const dueAtMs = (nextDue.get(name)?.at_ms ?? Number.POSITIVE_INFINITY) as number;
        if (dueAtMs <= nowMs) {
          const { messages, buried } = await database.write(() => claimDue({ max, visibilityTimeoutMs }));
          if (buried > 0 && deadLetterQueue !== undefined) changeSignal.ring(deadLetterQueue);
          if (messages.length > 0) return messages;
        } else {
          if (nowMs >= endAtMs) return [];
          await changeSignal.wait({ name, ms: Math.min(pollMs, dueAtMs - nowMs, endAtMs - nowMs), signal });
        }
      }
      return [];
    },

    async finish({ receipt }) {
      const [seq = "", receiveCount = ""] = receipt.split(".");
      return database.write(() => remove.run(Number(seq), Number(receiveCount), name, now()).changes === 1);
    },
  };
}

/** Reads alone. A message that somebody has received, or whose delay is not over, does not wait. */
export function createQueueDepths({
  database,
  names,
  now = Date.now,
}: {
  database: Database;
  names: readonly string[];
  now?: () => number;
}): () => QueueDepth[] {
  const due = database.prepare(
    "SELECT COUNT(*) AS messages, MIN(visible_at_ms) AS since_ms FROM messages WHERE queue = ? AND visible_at_ms <= ?",
  );
  return () => {
    const nowMs = now();
    return names.map((queue) => {
      const { messages, since_ms } = due.get(queue, nowMs) as { messages: number; since_ms: number | null };
      return { queue, messages, oldestMs: nowMs - (since_ms ?? nowMs) };
    });
  };
}
