/** A task store in memory, for tests and benchmarks. */

import type { ErasableStore, ItemWriter, StoreIndex, TaskItem } from "../ports.ts";
import { readItem, writeItem } from "../records.ts";

/** Stores JSON text, so that callers share no object with the store, as in the other engines. */
export function createMemoryTaskStore<T extends TaskItem>(options: {
  parse: (json: unknown) => T;
  now?: () => number;
}): ErasableStore<T> & ItemWriter {
  const { parse, now = Date.now } = options;
  type Row = Omit<TaskItem, "id"> & { json: string; position: number };
  const rows = new Map<string, Row>();
  let positions = 0;

  function live(id: string): Row | undefined {
    const row = rows.get(id);
    if (row === undefined || row.expiresAtMs > now()) return row;
    rows.delete(id);
    return undefined;
  }

  function write<Item extends TaskItem>({
    item,
    position,
  }: {
    item: Item;
    position: number;
  }): Item {
    const { id, revision, expiresAtMs, listedAtMs, thread, principal, state } = item;
    rows.set(id, {
      json: writeItem(item),
      revision,
      expiresAtMs,
      position,
      listedAtMs,
      thread,
      principal,
      state,
    });
    return item;
  }

  function create<Item extends TaskItem>(item: Item): Item | undefined {
    return live(item.id)
      ? undefined
      : write({ item: { ...item, revision: 1 }, position: ++positions });
  }

  function replace<Item extends TaskItem>(item: Item): Item | undefined {
    const row = live(item.id);
    if (row?.revision !== item.revision) return undefined;
    return write({ item: { ...item, revision: item.revision + 1 }, position: row.position });
  }

  return {
    async get({ id }) {
      const row = live(id);
      return row && readItem({ text: row.json, parse });
    },
    create: async ({ item }) => create(item),
    replace: async ({ item }) => replace(item),
    writeTogether: async ({ writes }) =>
      writes.every(
        ({ type, item }) => (type === "create" ? create(item) : replace(item)) !== undefined,
      ),
    async remove({ id, revision }) {
      const row = live(id);
      return row === undefined || (row.revision === revision && rows.delete(id));
    },
    async scan() {
      const liveRows = [...rows.keys()].flatMap((id) => live(id) ?? []);
      return { items: liveRows.map(({ json }) => readItem({ text: json, parse })) };
    },
    async list({ index, key, cursor, limit }) {
      if (cursor !== undefined && !sortKeyPatterns[index].test(cursor))
        throw new RangeError("not a cursor of this store");
      const sign = index === "principal" ? -1 : 1;
      const matchingRows = [...rows.keys()]
        .flatMap((id) => {
          const row = live(id);
          const position = row && sortKey({ ...row, id, index });
          return row !== undefined && row[index] === key && position !== undefined
            ? { position, json: row.json }
            : [];
        })
        .filter(({ position }) => cursor === undefined || sign * compare(position, cursor) > 0)
        .sort((a, b) => sign * compare(a.position, b.position));
      const page = matchingRows.slice(0, limit);
      const last = page.at(-1);
      const items = page.map(({ json }) => readItem({ text: json, parse }));
      return last !== undefined && matchingRows.length > limit
        ? { items, cursor: last.position }
        : { items };
    },
  };
}

const sortKeyPatterns: Record<StoreIndex, RegExp> = {
  thread: /^\d{15}$/,
  principal: /^\d{15}\../s,
  state: /^\d{15}$/,
};

/** The position in the index; undefined for an item that is not in it. */
function sortKey(
  row: Pick<TaskItem, "id" | "listedAtMs"> & { position: number; index: StoreIndex },
): string | undefined {
  const { id, listedAtMs, position, index } = row;
  if (index !== "principal") return padCount(position);
  return listedAtMs === undefined ? undefined : `${padCount(listedAtMs)}.${id}`;
}

function padCount(count: number): string {
  return String(count).padStart(15, "0");
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
