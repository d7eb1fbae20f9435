/** The engine in memory: records by id, and messages that come after their delay. */

import type { TaskItem, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Thread } from "@sekisho/verification/task/thread.ts";
import type { Operate, WorkerProcess } from "./faults.ts";

export type QueuedMessage = { body: string; visibleAtMs: number };

const errors = {
  refused: () => new Error("engine out of reach"),
  unknown: () => new Error("engine out of reach"),
};

export function worldStore<T extends TaskItem & (Task | Thread)>({
  operate,
  process,
  records,
}: {
  operate: Operate;
  process: WorkerProcess;
  records: Map<string, T>;
}): TaskStore<T> {
  const at = <R>(name: string, item: T | undefined, effect: () => R): Promise<R> =>
    operate({ process, operation: { party: "store", name, item }, errors, effect });
  const write = (item: T): T => {
    records.set(item.id, structuredClone(item));
    return item;
  };
  return {
    get: ({ id }) => at("get", records.get(id), () => structuredClone(records.get(id))),
    create: ({ item }) =>
      at("create", item, () =>
        records.has(item.id) ? undefined : write({ ...item, revision: 1 }),
      ),
    replace: ({ item }) =>
      at("replace", item, () =>
        records.get(item.id)?.revision === item.revision
          ? write({ ...item, revision: item.revision + 1 })
          : undefined,
      ),
    list: ({ index, key, limit }) =>
      at("list", undefined, () => {
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
  process,
  messages,
  groups,
  now,
}: {
  operate: Operate;
  process: WorkerProcess;
  messages: QueuedMessage[];
  groups: Set<string | undefined>;
  now: () => number;
}): TaskQueue {
  return {
    send: ({ body, delayMs = 0, group }) =>
      operate({
        process,
        operation: { party: "queue", name: "send" },
        errors,
        effect: () => {
          groups.add(group);
          messages.push({ body, visibleAtMs: now() + Math.ceil(delayMs) });
        },
      }),
  };
}
