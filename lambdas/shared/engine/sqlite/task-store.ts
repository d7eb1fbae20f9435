/** The task store in sqlite: items as JSON text, what is searched for in columns beside it. */
import { readItem, writeItem } from "../item-json.ts";
import type { ErasableStore, StoreIndex, TaskItem } from "../ports.ts";
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
      return rows.length > limit && last !== undefined ? { items, cursor: last.place } : { items };
    },
  };
}

/** Text is made at the call, so that what the caller does to the object afterwards is not stored. */
function columnsOf(item: TaskItem): (string | number | null)[] {
  const { state, thread = null, principal = null, listedAtMs = null, expiresAtMs } = item;
  return [state, thread, principal, listedAtMs, expiresAtMs, writeItem(item)];
}

// Pages of the listings in sqlite: the rows of one index key after a place, which a cursor names.

/** `place` is the cursor by which the rows after this one are read. */
type Row = { place: string; item: string };

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
    `SELECT CAST(seq AS TEXT) AS place, item FROM tasks
     WHERE ${index} = ? AND seq > ? AND expires_at_ms > ? ORDER BY seq LIMIT ?`,
  );
  return ({ key, cursor = "0", nowMs, limit }) => {
    if (!/^\d{1,15}$/.test(cursor)) throw notOurs();
    return select.all(key, Number(cursor), nowMs, limit) as Row[];
  };
}

/** By the time that the items say themselves, then by id. `IS NOT NULL` lets sqlite see that the partial index is enough. */
function newestFirst({ database }: { database: Database }): Page {
  const select = database.prepare(
    `SELECT listed_at_ms || '.' || id AS place, item FROM tasks
     WHERE principal = ? AND listed_at_ms IS NOT NULL AND (listed_at_ms, id) < (?, ?) AND expires_at_ms > ?
     ORDER BY listed_at_ms DESC, id DESC LIMIT ?`,
  );
  return ({ key, cursor = `${Number.MAX_SAFE_INTEGER}.`, nowMs, limit }) => {
    const [, listedAtMs, id] = /^(\d{1,16})\.(.*)$/s.exec(cursor) ?? [];
    if (listedAtMs === undefined || id === undefined) throw notOurs();
    return select.all(key, Number(listedAtMs), id, nowMs, limit) as Row[];
  };
}

function notOurs(): RangeError {
  return new RangeError("not a cursor of this store");
}
