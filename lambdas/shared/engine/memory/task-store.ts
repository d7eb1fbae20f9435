/** A task store that forgets everything with its process: the double of tests, and the "without a store" of benches. */
import type { StoreIndex, TaskItem, TaskStore } from "../ports.ts";

/** Items are kept as JSON text, so that nobody shares an object with the store, just as with every durable engine. */
export function createMemoryTaskStore<T extends TaskItem>({
  parse,
  now = Date.now,
}: {
  parse: (json: unknown) => T;
  now?: () => number;
}): TaskStore<T> {
  type Row = {
    json: string;
    revision: number;
    expiresAtMs: number;
    position: number;
    keys: Record<StoreIndex, unknown>;
  };
  const rows = new Map<string, Row>();
  let positions = 0;

  function live(id: string): Row | undefined {
    const row = rows.get(id);
    if (row === undefined || row.expiresAtMs > now()) return row;
    rows.delete(id);
    return undefined;
  }

  function write({ item, position }: { item: T; position: number }): T {
    const { revision, expiresAtMs, thread, principal, state } = item;
    const keys = { thread, principal, state };
    rows.set(item.id, { json: JSON.stringify(item), revision, expiresAtMs, position, keys });
    return item;
  }

  return {
    async get({ id }) {
      const row = live(id);
      return row && parse(JSON.parse(row.json));
    },
    async create({ item }) {
      return live(item.id) ? undefined : write({ item: { ...item, revision: 1 }, position: ++positions });
    },
    async replace({ item }) {
      const row = live(item.id);
      if (row?.revision !== item.revision) return undefined;
      return write({ item: { ...item, revision: item.revision + 1 }, position: row.position });
    },
    async list({ index, key, cursor = "0", limit }) {
      if (!/^\d{1,15}$/.test(cursor)) throw new RangeError("not a cursor of this store");
      const found = [...rows.keys()]
        .flatMap((id) => live(id) ?? [])
        .filter((row) => row.keys[index] === key && row.position > Number(cursor))
        .sort((a, b) => a.position - b.position);
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const items = page.map(({ json }) => parse(JSON.parse(json)));
      return last !== undefined && found.length > limit ? { items, cursor: String(last.position) } : { items };
    },
  };
}
