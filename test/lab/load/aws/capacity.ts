/** Adds up the capacity of DynamoDB that a run used, by partition key. The sums are in sqlite, outside the heap. */
import { DatabaseSync } from "node:sqlite";
import type { CapacityUse } from "../../../doubles/aws/counting-dynamodb.ts";

/** A partition takes so much a second: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html */
export const perPartitionSecond = { writes: 1000, reads: 3000 } as const;
export type Direction = keyof typeof perPartitionSecond;

/** The most used key of one kind in one place, such as `open#3` among the `open#…` of the index `by-shard`. */
export type HotKey = {
  place: string;
  family: string;
  keys: number;
  direction: Direction;
  /** The units of the whole family. */
  familyUnits: number;
  key: string;
  units: number;
  /** Of all units of its place and direction, 0 to 1. */
  share: number;
};

export type Capacity = {
  use(request: CapacityUse): void;
  /** Of every kind of key the most used one, by place and share. */
  hotKeys(): HotKey[];
  /** All units of a place. */
  totals(): { place: string; writes: number; reads: number }[];
  close(): void;
};

export function openCapacity(): Capacity {
  const database = new DatabaseSync(":memory:");
  database.exec(
    "CREATE TABLE uses (place TEXT, key TEXT, writes INT, reads INT, PRIMARY KEY (place, key)) WITHOUT ROWID",
  );
  const add = database.prepare(
    "INSERT INTO uses VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET writes = writes + excluded.writes, reads = reads + excluded.reads",
  );
  const all = database.prepare("SELECT place, key, writes, reads FROM uses");

  return {
    use: ({ place, key, writes, reads }) => void add.run(place, key, writes, reads),
    hotKeys() {
      const hot = new Map<string, Omit<HotKey, "share">>();
      const units = { writes: new Map<string, number>(), reads: new Map<string, number>() };
      for (const row of all.iterate()) {
        const [place, key] = [String(row.place), String(row.key)];
        for (const direction of ["writes", "reads"] as const) {
          const usedNames = Number(row[direction]);
          if (usedNames === 0) continue;
          units[direction].set(place, (units[direction].get(place) ?? 0) + usedNames);
          const family = familyOf(key);
          const id = `${place} ${family} ${direction}`;
          const cachedValue = hot.get(id) ?? {
            place,
            family,
            direction,
            keys: 0,
            familyUnits: 0,
            key,
            units: 0,
          };
          const hottest = usedNames > cachedValue.units ? { key, units: usedNames } : {};
          hot.set(id, {
            ...cachedValue,
            keys: cachedValue.keys + 1,
            familyUnits: cachedValue.familyUnits + usedNames,
            ...hottest,
          });
        }
      }
      return [...hot.values()]
        .map((each) => ({
          ...each,
          share: each.units / (units[each.direction].get(each.place) ?? 1),
        }))
        .sort((one, other) => one.place.localeCompare(other.place) || other.share - one.share);
    },
    totals: () =>
      database
        .prepare(
          "SELECT place, SUM(writes) AS writes, SUM(reads) AS reads FROM uses GROUP BY place ORDER BY place",
        )
        .all()
        .map(({ place, writes, reads }) => ({
          place: String(place),
          writes: Number(writes),
          reads: Number(reads),
        })),
    close: () => database.close(),
  };
}

/** `thread:T1/C1/1.2` is one of the threads, `open#3` of the open tasks, and an id without a prefix of the tasks. */
function familyOf(key: string): string {
  const [, prefix] = /^((?:usage:)?[a-z-]+[:#])/.exec(key) ?? [];
  if (prefix !== undefined) return `${prefix}…`;
  return /^[0-9a-f]{8}-/.test(key) ? "task" : key;
}
