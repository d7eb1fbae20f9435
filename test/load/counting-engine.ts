/** An engine that tells of each of its operations, to count what a task costs. */

import type { QueueConsumer, TaskItem, TaskQueue, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import type { Engine } from "../../lib/local/engine.ts";

/**
 * `about` is the state of the record that was read or written, or the type of the message that was sent (`early` for the
 * copy of a wake-up that came before its record was saved). Of receives only the messages count that were given out.
 */
export type Operation = {
  kind: "get" | "create" | "replace" | "list" | "send" | "received" | "finish";
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

function countingStore<T extends TaskItem>(store: TaskStore<T>, count: Count): TaskStore<T> {
  return {
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
