/** The records of a simulated store, linearizable per item. */
import type { TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { worldMs } from "./virtual-time.ts";

type Row<T> = {
  item: T;
  json: string;
  /** The record as readers get it: parsed once per revision and version, and frozen, so that readers can share it. */
  parsed: Map<Codec<T>, T>;
  position: number;
};

/** How a version of the product writes and reads records of one kind. */
export type Codec<T> = { write(item: T): string; read(text: string): T };

/** Items pass through text, as with every durable engine. */
export function createSimRecords<T extends TaskItem>({
  onWritten,
  stored = [],
}: {
  /** Sees every item that was stored, as the text that was stored, and the text before. */
  onWritten: (item: T, json: string, oldValue: string | undefined) => void;
  /** The texts of the records to begin with, in the order of their creation. */
  stored?: readonly string[] | undefined;
}): {
  recordsFor: (codec: Codec<T>) => TaskStore<T>;
  peek: (id: string) => T | undefined;
  texts: () => string[];
} {
  const rows = new Map<string, Row<T>>();
  let positions = 0;
  for (const json of stored) {
    const item = JSON.parse(json) as T;
    rows.set(item.id, { item, json, parsed: new Map(), position: ++positions });
  }

  function live(id: string): Row<T> | undefined {
    const row = rows.get(id);
    if (row === undefined || row.item.expiresAtMs > worldMs()) return row;
    rows.delete(id);
    return undefined;
  }

  function recordsFor(codec: Codec<T>): TaskStore<T> {
    function write({ item, position }: { item: T; position: number }): T {
      const json = codec.write(item);
      const before = rows.get(item.id)?.json;
      rows.set(item.id, { item, json, parsed: new Map(), position });
      onWritten(item, json, before);
      return item;
    }

    function readValue(row: Row<T>): T {
      const cachedValue = row.parsed.get(codec) ?? frozen(codec.read(row.json));
      row.parsed.set(codec, cachedValue);
      return cachedValue;
    }

    return {
      async get({ id }) {
        const row = live(id);
        return row && readValue(row);
      },
      async create({ item }) {
        return live(item.id)
          ? undefined
          : write({ item: { ...item, revision: 1 }, position: ++positions });
      },
      async replace({ item }) {
        const row = live(item.id);
        if (row?.item.revision !== item.revision) return undefined;
        return write({ item: { ...item, revision: item.revision + 1 }, position: row.position });
      },
      async list({ index, key, limit }) {
        const found = [...rows.keys()]
          .flatMap((id) => live(id) ?? [])
          .filter(
            ({ item }) =>
              item[index] === key && (index !== "principal" || item.listedAtMs !== undefined),
          )
          .sort((a, b) => a.position - b.position);
        return { items: found.slice(0, limit).map(readValue) };
      },
    };
  }

  const texts = () =>
    [...rows.values()].sort((a, b) => a.position - b.position).map(({ json }) => json);
  return { recordsFor, peek: (id) => live(id)?.item, texts };
}

function frozen<V>(value: V): V {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
