/** The engine of a worker behind its faults: the records, and messages that come after their delay. */

import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Thread } from "@sekisho/verification/task/thread.ts";
import type { Operate, WorkerProcess } from "./faults.ts";
import type { Codec, Records } from "./records.ts";

export type QueuedMessage = { body: string; visibleAtMs: number };

const errors = {
  refused: () => new Error("engine out of reach"),
  unknown: () => new Error("engine out of reach"),
};

export function worldStore<T extends Task | Thread>({
  operate,
  process,
  records,
  codec,
}: {
  operate: Operate;
  process: WorkerProcess;
  records: Records<T>;
  codec: Codec<T>;
}): TaskStore<T> {
  const { get, create, replace, list } = records.storeFor(codec);
  const at = <R>(name: string, item: T | undefined, effect: () => Promise<R>): Promise<R> =>
    operate({ process, operation: { party: "store", name, item }, errors, effect });
  return {
    get: (request) => at("get", records.peek(request.id), () => get(request)),
    create: (request) => at("create", request.item, () => create(request)),
    replace: (request) => at("replace", request.item, () => replace(request)),
    list: (request) => at("list", undefined, () => list(request)),
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
