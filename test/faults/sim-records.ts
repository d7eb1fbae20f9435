/** The records of a simulated store, linearizable per item. */
import type { TaskItem, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { worldMs } from "./virtual-time.ts";

type Row<T> = {
  item: T;
  json: string;
  /** The record as a reader gets it: parsed once per revision, and frozen, so that readers can share it. */
  parsed: T | undefined;
  position: number;
};

/** Items pass through JSON and `parse`, as with every durable engine. */
export function createSimRecords<T extends TaskItem>({
  parse,
  onWritten,
}: {
  parse: (json: unknown) => T;
  /** Sees every item that was stored, as the text that was stored. */
  onWritten: (item: T, json: string) => void;
}): { records: TaskStore<T>; peek: (id: string) => T | undefined } {
  const rows = new Map<string, Row<T>>();
  let positions = 0;

  function live(id: string): Row<T> | undefined {
    const row = rows.get(id);
    if (row === undefined || row.item.expiresAtMs > worldMs()) return row;
    rows.delete(id);
    return undefined;
  }

  function write({ item, position }: { item: T; position: number }): T {
    const json = JSON.stringify(item);
    rows.set(item.id, { item, json, parsed: undefined, position });
    onWritten(item, json);
    return item;
  }

  function read(row: Row<T>): T {
    row.parsed ??= frozen(parse(JSON.parse(row.json)));
    return row.parsed;
  }

  const records: TaskStore<T> = {
    async get({ id }) {
      const row = live(id);
      return row && read(row);
    },
    async create({ item }) {
      return live(item.id) ? undefined : write({ item: { ...item, revision: 1 }, position: ++positions });
    },
    async replace({ item }) {
      const row = live(item.id);
      if (row?.item.revision !== item.revision) return undefined;
      return write({ item: { ...item, revision: item.revision + 1 }, position: row.position });
    },
    async list({ index, key, limit }) {
      const found = [...rows.keys()]
        .flatMap((id) => live(id) ?? [])
        .filter(({ item }) => item[index] === key && (index !== "principal" || item.listedAtMs !== undefined))
        .sort((a, b) => a.position - b.position);
      return { items: found.slice(0, limit).map(read) };
    },
  };
  return { records, peek: (id) => live(id)?.item };
}

function frozen<V>(value: V): V {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
