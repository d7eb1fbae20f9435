/** The task store in sqlite: items as JSON text, what is searched for in columns beside it. */
import { readItem, writeItem } from "../item-json.ts";
import type { ErasableStore, TaskItem } from "../ports.ts";
import type { Database } from "./database.ts";
import { createPages } from "./task-pages.ts";

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
