/** Counts what a task costs: the operations of the engines, and the calls of Slack and of the Execution zone. */

import type {
  ItemWriter,
  QueueConsumer,
  TaskItem,
  TaskQueue,
  TaskStore,
} from "@sekisho/runtime/engine/ports.ts";
import type { Engine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";

/**
 * `about` is the state of the record, or the type of the sent message (`early` for the copy of a wake-up that came before its record
 * was saved). A receive counts once per message that it returned.
 */
export type Operation = {
  kind: "get" | "create" | "replace" | "together" | "list" | "send" | "received" | "finish";
  about: string;
};

type Count = (operation: Operation) => void;

export function countingEngine({ engine, count }: { engine: Engine; count: Count }): Engine {
  return {
    close: engine.close,
    taskStore: (request) => countingStore(engine.taskStore(request), count),
    taskQueue(request) {
      const { queue, deadLetters } = engine.taskQueue(request);
      return { queue: countingQueue(queue, count), deadLetters: countingQueue(deadLetters, count) };
    },
  };
}

function countingStore<T extends TaskItem>(
  store: TaskStore<T> & ItemWriter,
  count: Count,
): TaskStore<T> & ItemWriter {
  return {
    writeTogether(request) {
      count({ kind: "together", about: request.writes.at(-1)?.item.state ?? "no" });
      return store.writeTogether(request);
    },
    async get({ id }) {
      const item = await store.get({ id });
      count({ kind: "get", about: item?.state ?? "no" });
      return item;
    },
    create({ item }) {
      count({ kind: "create", about: item.state });
      return store.create({ item });
    },
    replace({ item }) {
      count({ kind: "replace", about: item.state });
      return store.replace({ item });
    },
    list(request) {
      count({ kind: "list", about: request.index });
      return store.list(request);
    },
  };
}

function countingQueue(queue: TaskQueue & QueueConsumer, count: Count): TaskQueue & QueueConsumer {
  return {
    send(request) {
      const { type, early } = JSON.parse(request.body) as { type?: string; early?: number };
      count({ kind: "send", about: early === undefined ? (type ?? "other") : "early" });
      return queue.send(request);
    },
    async receive(request) {
      const messages = await queue.receive(request);
      for (const _message of messages) count({ kind: "received", about: "messages" });
      return messages;
    },
    finish(request) {
      count({ kind: "finish", about: "messages" });
      return queue.finish(request);
    },
  };
}

export type OperationCounter = {
  counts: Record<string, number>;
  count: (operation: Operation) => void;
};

export function countOperations(): OperationCounter {
  const counts: Record<string, number> = {};
  return {
    counts,
    count({ kind, about }) {
      bump(counts, `${about} ${kind}`);
    },
  };
}

export type CallCounts = { calls: Record<string, number>; failed: Record<string, number> };

export function bump(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
