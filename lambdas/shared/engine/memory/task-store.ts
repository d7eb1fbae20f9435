/** A task store in memory, for tests and benchmarks. */

import type { ErasableStore, StoreIndex, TaskItem } from "../ports.ts";
import { readItem, writeItem } from "../records.ts";

/** Items are kept as JSON text, so that nobody shares an object with the store, just as with every durable engine. */
export function createMemoryTaskStore<T extends TaskItem>({
  parse,
  now = Date.now,
}: {
  parse: (json: unknown) => T;
  now?: () => number;
}): ErasableStore<T> {
  type Row = {
    json: string;
    revision: number;
    expiresAtMs: number;
    position: number;
    keys: Record<StoreIndex, string | undefined>;
    /** Where it stands in each index, as text that sorts; in none where it is undefined. */
    sortKeys: Record<StoreIndex, string | undefined>;
  };
  const rows = new Map<string, Row>();
  let sortKeys = 0;

  function live(id: string): Row | undefined {
    const row = rows.get(id);
    if (row === undefined || row.expiresAtMs > now()) return row;
    rows.delete(id);
    return undefined;
  }

  function write({ item, position }: { item: T; position: number }): T {
    const { id, revision, expiresAtMs, listedAtMs, thread, principal, state } = item;
    const created = padded(position);
    const listed = listedAtMs === undefined ? undefined : `${padded(listedAtMs)}.${id}`;
    const keys = { thread, principal, state };
    const sortKeys = { thread: created, principal: listed, state: created };
    rows.set(id, { json: writeItem(item), revision, expiresAtMs, position, keys, sortKeys });
    return item;
  }

  return {
    async get({ id }) {
      const row = live(id);
      return row && readItem({ text: row.json, parse });
    },
    async create({ item }) {
      return live(item.id) ? undefined : write({ item: { ...item, revision: 1 }, position: ++sortKeys });
    },
    async replace({ item }) {
      const row = live(item.id);
      if (row?.revision !== item.revision) return undefined;
      return write({ item: { ...item, revision: item.revision + 1 }, position: row.position });
    },
    async remove({ id, revision }) {
      const row = live(id);
      return row === undefined || (row.revision === revision && rows.delete(id));
    },
    async list({ index, key, cursor, limit }) {
      if (cursor !== undefined && !sortKeyPatterns[index].test(cursor))
        throw new RangeError("not a cursor of this store");
      const sign = index === "principal" ? -1 : 1;
      const found = [...rows.keys()]
        .flatMap((id) => live(id) ?? [])
        .flatMap(({ keys, sortKeys, json }) => {
          const position = sortKeys[index];
          return keys[index] === key && position !== undefined ? { position, json } : [];
        })
        .filter(({ position }) => cursor === undefined || sign * compare(position, cursor) > 0)
        .sort((a, b) => sign * compare(a.position, b.position));
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const items = page.map(({ json }) => readItem({ text: json, parse }));
      return last !== undefined && found.length > limit ? { items, cursor: last.position } : { items };
    },
  };
}

const sortKeyPatterns: Record<StoreIndex, RegExp> = { thread: /^\d{15}$/, principal: /^\d{15}\../s, state: /^\d{15}$/ };

function padded(count: number): string {
  return String(count).padStart(15, "0");
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
