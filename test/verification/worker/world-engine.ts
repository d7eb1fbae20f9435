/** The engine in memory: records by id, and messages that come after their delay. */

import type { TaskItem, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import type { Alive, Operate } from "./world-fates.ts";

export type QueuedMessage = { body: string; visibleAtMs: number };

const errors = {
  refused: () => new Error("engine out of reach"),
  unknown: () => new Error("engine out of reach"),
};

export function worldStore<T extends TaskItem>({
  operate,
  alive,
  records,
  unwritable = () => false,
  unreadable = () => false,
}: {
  operate: Operate;
  alive: Alive;
  records: Map<string, T>;
  unwritable?: (item: T) => boolean;
  unreadable?: (item: T) => boolean;
}): TaskStore<T> {
  const at = <R>(name: string, effect: () => R): Promise<R> =>
    operate({ alive, operation: { party: "store", name }, errors, effect });
  return {
    get: ({ id }) =>
      at("get", () => {
        const record = structuredClone(records.get(id));
        if (record !== undefined && unreadable(record)) {
          throw new ItemError({
            cause: new TypeError(),
            json: { ...record, wait: "many", outcome: 7 },
          });
        }
        return record;
      }),
    create: ({ item }) =>
      at("create", () => {
        if (records.has(item.id)) return undefined;
        records.set(item.id, structuredClone({ ...item, revision: 1 }));
        return structuredClone(records.get(item.id));
      }),
    replace: ({ item }) =>
      at("replace", () => {
        if (unwritable(item)) throw new ItemError({ cause: new RangeError() });
        if (records.get(item.id)?.revision !== item.revision) return undefined;
        records.set(item.id, structuredClone({ ...item, revision: item.revision + 1 }));
        return structuredClone(records.get(item.id));
      }),
    list: ({ index, key, limit }) =>
      at("list", () => {
        if (index !== "principal") throw new Error("not used");
        const listed = [...records.values()].filter(
          (item) => item.principal === key && item.listedAtMs !== undefined,
        );
        return { items: structuredClone(listed.reverse().slice(0, limit)) };
      }),
  };
}

export function worldQueue({
  operate,
  alive,
  messages,
  groups,
  now,
}: {
  operate: Operate;
  alive: Alive;
  messages: QueuedMessage[];
  groups: Set<string | undefined>;
  now: () => number;
}): TaskQueue {
  return {
    send: ({ body, delayMs = 0, group }) =>
      operate({
        alive,
        operation: { party: "queue", name: "send" },
        errors,
        effect: () => {
          groups.add(group);
          messages.push({ body, visibleAtMs: now() + Math.ceil(delayMs) });
        },
      }),
  };
}
