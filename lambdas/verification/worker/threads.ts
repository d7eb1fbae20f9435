/** The acts upon the order of a thread: take one's place, leave it and tell the next, ask all in it to end. */
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import {
  type Asking,
  askingIn,
  emptyThread,
  hold,
  leave,
  lineUp,
  type Place,
  type Thread,
  threadIdOf,
} from "../task/thread.ts";

/** So many workers at once never meet in one thread; more is a store that does not keep its word. */
const maxAttempts = 30;

export type Threads = {
  /** Resolves to undefined where the thread is full. Repeated, it gives the place that the task has by then. */
  lineUp(request: { task: Task; turnMs: number; parallel: boolean }): Promise<Place | undefined>;
  leave(request: { task: Task }): Promise<void>;
  /** The task has asked a person: it keeps its place until then, and messages may be the answer. */
  hold(request: { task: Task; untilMs: number }): Promise<void>;
  /** The tasks of its thread that may wait for the answer that this one's message may be. */
  asking(request: { task: Task }): Promise<Asking>;
  /** Whether the bot was asked in the thread (within 30 days) before the message `ts`. */
  isKnown(request: { thread: string; ts: string }): Promise<boolean>;
  /** Asks the tasks of the thread to end whose message came before this one, as far as they may be; resolves to how many. */
  cancelAll(request: { task: Task; mayCancel: (requestId: string) => Promise<boolean> }): Promise<number>;
};

/** Every method rejects where store or queue are away, and may then be repeated. */
export function createThreads({
  store,
  queue,
  now,
}: {
  store: TaskStore<Thread>;
  queue: TaskQueue;
  now: () => number;
}): Threads {
  async function change<T>(task: Task, decide: (thread: Thread) => { thread: Thread; result: T }): Promise<T> {
    const id = threadIdOf(task);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const known = await store.get({ id });
      const before = known ?? emptyThread({ id });
      const { thread, result } = decide(before);
      if (thread === before) return result;
      const stored = await (known === undefined ? store.create({ item: thread }) : store.replace({ item: thread }));
      if (stored !== undefined) return result;
    }
    throw new Error("the record of a thread cannot be changed");
  }

  return {
    lineUp: ({ task, turnMs, parallel }) =>
      change<Place | undefined>(task, (thread) => {
        const lined = lineUp({ thread, task, parallel, turnMs, nowMs: now() });
        return lined === undefined ? { thread, result: undefined } : { thread: lined.thread, result: lined.place };
      }),
    async leave({ task }) {
      const next = await change(task, (thread) => {
        const left = leave({ thread, id: task.id, nowMs: now() });
        return { thread: left.thread, result: left.next };
      });
      if (next === undefined) return;
      await queue.send({ body: JSON.stringify({ type: "turn", requestId: next }), group: queueGroupOf(task) });
    },
    async hold({ task, untilMs }) {
      await change(task, (thread) => ({ thread: hold({ thread, id: task.id, untilMs }), result: undefined }));
    },
    async asking({ task }) {
      const thread = await store.get({ id: threadIdOf(task) });
      return thread === undefined ? { now: [], before: [] } : askingIn({ thread, id: task.id, nowMs: now() });
    },
    async isKnown({ thread: name, ts }) {
      const thread = await store.get({ id: threadIdOf({ thread: name }) });
      // Of a thread from before replies counted nothing is known.
      return thread?.sinceTs !== undefined && Number(thread.sinceTs) < Number(ts);
    },
    async cancelAll({ task, mayCancel }) {
      const thread = await store.get({ id: threadIdOf(task) });
      const nowMs = now();
      const meant = (thread?.tasks ?? []).filter(
        ({ ts, untilMs }) => untilMs > nowMs && Number(ts) < Number(task.message.ts),
      );
      let count = 0;
      for (const { id } of meant) {
        if (!(await mayCancel(id))) continue;
        count += 1;
        await queue.send({ body: JSON.stringify({ type: "cancel", requestId: id }), group: queueGroupOf(task) });
      }
      return count;
    },
  };
}
