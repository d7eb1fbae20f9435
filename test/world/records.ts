/** Records in memory, linearizable per item. They are stored as text, so that callers share no object with them, as in the other engines. */
import type {
  ErasableStore,
  ItemWriter,
  StoreIndex,
  TaskItem,
} from "@sekisho/runtime/engine/ports.ts";
import { readItem, writeItem } from "@sekisho/runtime/engine/records.ts";

/** How a version of the product writes and reads records of one kind. */
export type Codec<T> = { write(item: T): string; read(text: string): T };
type Row<T> = { item: T; json: string; position: number };
export type MemoryTaskStore<T extends TaskItem> = ErasableStore<T> & ItemWriter;

export function createMemoryTaskStore<T extends TaskItem>({
  parse,
  now = Date.now,
}: {
  parse: (json: unknown) => T;
  now?: () => number;
}): MemoryTaskStore<T> {
  return createRecords<T>({ now }).storeFor(createCodec(parse));
}

/** Records as this version has them. */
export function createCodec<T>(parse: (json: unknown) => T): Codec<T> {
  return {
    write: (item) => writeItem(Object(item)),
    read: (text) => readItem({ text, parse }),
  };
}

/** Parses each text once, and freezes the item, so that readers can share it. */
export function shareItems<T>({ write, read }: Codec<T>): Codec<T> {
  const items = new Map<string, T>();
  return {
    write,
    read(text) {
      const item = items.get(text) ?? freeze(read(text));
      items.set(text, item);
      return item;
    },
  };
}

function freeze<V>(value: V): V {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}

export type Records<T extends TaskItem> = ReturnType<typeof createRecords<T>>;

export function createRecords<T extends TaskItem>({
  now,
  onWritten = () => {},
  stored = [],
}: {
  now: () => number;
  /** Sees every item that was stored, as the text that was stored, and the text before. */
  onWritten?: (item: T, json: string, oldJson: string | undefined) => void;
  /** The texts of the records to begin with, in the order of their creation. */
  stored?: readonly string[] | undefined;
}) {
  const rows = new Map<string, Row<T>>();
  let positions = 0;
  for (const json of stored) {
    const item = JSON.parse(json) as T;
    rows.set(item.id, { item, json, position: ++positions });
  }

  function live(id: string): Row<T> | undefined {
    const row = rows.get(id);
    if (row === undefined || row.item.expiresAtMs > now()) return row;
    rows.delete(id);
    return undefined;
  }

  const liveRows = () => [...rows.keys()].flatMap((id) => live(id) ?? []);

  /** What is stored, for whoever looks from outside and for those who change it. */
  function itemsFor({ write, read }: Codec<T>) {
    return {
      get(id: string) {
        const row = live(id);
        return row && read(row.json);
      },
      has: (id: string) => live(id) !== undefined,
      values: () => liveRows().map(({ json }) => read(json)),
      set: (id: string, item: T) =>
        void rows.set(id, { item, json: write(item), position: ++positions }),
      clear: () => rows.clear(),
      get size() {
        return liveRows().length;
      },
    };
  }

  function storeFor({ write: toText, read }: Codec<T>): MemoryTaskStore<T> {
    function write(item: T, position: number): T {
      const json = toText(item);
      const oldJson = rows.get(item.id)?.json;
      rows.set(item.id, { item, json, position });
      onWritten(item, json, oldJson);
      return item;
    }

    const effects = {
      create: (item: T) =>
        live(item.id) ? undefined : write({ ...item, revision: 1 }, ++positions),
      replace(item: T) {
        const row = live(item.id);
        if (row?.item.revision !== item.revision) return undefined;
        return write({ ...item, revision: item.revision + 1 }, row.position);
      },
    };

    return {
      async get({ id }) {
        const row = live(id);
        return row && read(row.json);
      },
      create: async ({ item }) => effects.create(item),
      replace: async ({ item }) => effects.replace(item),
      // The items are of the kinds that the codec can write.
      writeTogether: async ({ writes }) =>
        writes.every(({ type, item }) => effects[type](item as T) !== undefined),
      async remove({ id, revision }) {
        const row = live(id);
        return row === undefined || (row.item.revision === revision && rows.delete(id));
      },
      scan: async () => ({ items: liveRows().map(({ json }) => read(json)) }),
      async list({ index, key, cursor, limit }) {
        if (cursor !== undefined && !sortKeyPatterns[index].test(cursor))
          throw new RangeError("not a cursor of this store");
        const sign = index === "principal" ? -1 : 1;
        const matchingRows = liveRows()
          .flatMap(({ item, json, position: created }) => {
            const position = item[index] === key ? sortKey({ item, created, index }) : undefined;
            return position === undefined ? [] : [{ position, json }];
          })
          .filter(({ position }) => cursor === undefined || sign * compare(position, cursor) > 0)
          .sort((a, b) => sign * compare(a.position, b.position));
        const page = matchingRows.slice(0, limit);
        const items = page.map(({ json }) => read(json));
        const last = page.at(-1);
        return last !== undefined && matchingRows.length > limit
          ? { items, cursor: last.position }
          : { items };
      },
    };
  }

  return {
    storeFor,
    itemsFor,
    /** The item as it was written. */
    peek: (id: string) => live(id)?.item,
    texts: () => [...rows.values()].sort((a, b) => a.position - b.position).map(({ json }) => json),
  };
}

const sortKeyPatterns: Record<StoreIndex, RegExp> = {
  thread: /^\d{15}$/,
  principal: /^\d{15}\../s,
  state: /^\d{15}$/,
};

/** The position in the index; undefined for an item that is not in it. */
function sortKey({
  item: { id, listedAtMs },
  created,
  index,
}: {
  item: TaskItem;
  created: number;
  index: StoreIndex;
}): string | undefined {
  if (index !== "principal") return padCount(created);
  return listedAtMs === undefined ? undefined : `${padCount(listedAtMs)}.${id}`;
}

function padCount(count: number): string {
  return String(count).padStart(15, "0");
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
