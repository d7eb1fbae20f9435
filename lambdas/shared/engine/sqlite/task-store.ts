/** The task store in sqlite: items as JSON text, what is searched for in columns beside it. */
import type { StoreIndex, TaskItem, TaskStore } from "../ports.ts";
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
}): TaskStore<T> {
  const read = database.prepare("SELECT item FROM tasks WHERE id = ? AND expires_at_ms > ?");
  const insert = database.prepare(
    `INSERT INTO tasks (id, revision, state, thread, principal, expires_at_ms, item) VALUES (?, 1, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  const update = database.prepare(
    `UPDATE tasks SET revision = revision + 1, state = ?, thread = ?, principal = ?, expires_at_ms = ?, item = ?
     WHERE id = ? AND revision = ? AND expires_at_ms > ?`,
  );
  const removeIfExpired = database.prepare("DELETE FROM tasks WHERE id = ? AND expires_at_ms <= ?");
  const removeSomeExpired = database.prepare(
    `DELETE FROM tasks WHERE seq IN
     (SELECT seq FROM tasks WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ${removedPerCreate})`,
  );
  const page = (index: StoreIndex) =>
    database.prepare(
      `SELECT seq, item FROM tasks WHERE ${index} = ? AND seq > ? AND expires_at_ms > ? ORDER BY seq LIMIT ?`,
    );
  const pages = { thread: page("thread"), principal: page("principal"), state: page("state") };

  return {
    async get({ id }) {
      const row = read.get(id, now()) as { item: string } | undefined;
      return row === undefined ? undefined : parse(JSON.parse(row.item));
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

    async list({ index, key, cursor = "0", limit }) {
      if (!/^\d{1,15}$/.test(cursor)) throw new RangeError("not a cursor of this store");
      // One more than asked for tells whether there is a next page.
      const rows = pages[index].all(key, Number(cursor), now(), limit + 1) as { seq: number; item: string }[];
      const shown = rows.slice(0, limit);
      const items = shown.map((row) => parse(JSON.parse(row.item)));
      const last = shown.at(-1);
      return rows.length > limit && last !== undefined ? { items, cursor: String(last.seq) } : { items };
    },
  };
}

/** Text is made at the call, so that what the caller does to the object afterwards is not stored. */
function columnsOf(item: TaskItem): [string, string | null, string | null, number, string] {
  return [item.state, item.thread ?? null, item.principal ?? null, item.expiresAtMs, JSON.stringify(item)];
}
