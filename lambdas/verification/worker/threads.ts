/** The acts upon the order of a thread: take one's place, leave it and tell the next, ask all in it to end. */

import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import { changeRecord } from "../../shared/engine/records.ts";
import type { ThreadPosition } from "../task/events.ts";
import { requestIdOf } from "../task/ids.ts";
import type { UserMessage } from "../task/messages.ts";
import { concludedAtMs, threadReleaseMs } from "../task/step.ts";
import { queueGroupOf, type Task, threadKeyOf } from "../task/task.ts";
import {
  type AskingTasks,
  addToThread,
  emptyThread,
  findAskingTasks,
  holdThread,
  markCanceled,
  removeFromThread,
  type Thread,
  tasksBefore,
  threadIdOf,
} from "../task/thread.ts";

export type Threads = {
  /** Resolves to undefined where the thread is full. Repeated, it gives the place that the task has by then. */
  joinThread(request: { task: Task; turnMs: number; parallel: boolean }): Promise<ThreadPosition | undefined>;
  leave(request: { task: Task }): Promise<void>;
  /** The task has asked a person: it keeps its place until then, and messages may be the answer. */
  hold(request: { task: Task; untilMs: number }): Promise<void>;
  /** The tasks of its thread that may wait for the answer that this one's message may be. */
  asking(request: { task: Task }): Promise<AskingTasks>;
  /**
   * Whether the bot was asked in the message's thread (within 30 days) before the message, by somebody who may. `undecided`: the
   * thread's first message asked it, and it is not known yet what becomes of that.
   */
  isKnown(request: { message: UserMessage }): Promise<"known" | "undecided" | "unknown">;
  /**
   * Asks the tasks of the thread to end whose message came before this one, as far as they may be; resolves to how many. `isRepeated`:
   * a message before this one has asked all of them.
   */
  cancelAll(request: {
    task: Task;
    mayCancel: (requestId: string) => Promise<boolean>;
  }): Promise<{ count: number; isRepeated: boolean }>;
};

/** Every method rejects where store or queue are away, and may then be repeated. */
export function createThreads({
  store,
  taskOf,
  queue,
  now,
}: {
  store: TaskStore<Thread>;
  /** By request id. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  queue: TaskQueue;
  now: () => number;
}): Threads {
  type Change<T> = { thread: Thread; result: T };

  function change<T>(task: Task, decide: (thread: Thread) => Change<T> | Promise<Change<T>>): Promise<T> {
    const id = threadIdOf(task);
    return changeRecord<Thread, T>({
      store,
      id,
      none: () => emptyThread({ id }),
      async decide(before) {
        const { thread: item, result } = await decide(before);
        return { item, result };
      },
    });
  }

  /**
   * Of the tasks that are waited for, those whose outcome is known, up to the first that is still in the way: one whose answer
   * Slack does not take, or whose worker died, must not hold up the thread until its deadline.
   */
  async function releaseTimes({ thread, task }: { thread: Thread; task: Task }): Promise<Map<string, number>> {
    const times = new Map<string, number>();
    for (const id of tasksBefore({ thread, task, nowMs: now() })) {
      const releasedAtMs = releaseTimeOf(await taskOf(id));
      if (releasedAtMs === undefined) break;
      times.set(id, releasedAtMs);
      if (releasedAtMs > now()) break;
    }
    return times;
  }

  return {
    joinThread: ({ task, turnMs, parallel }) =>
      change<ThreadPosition | undefined>(task, async (thread) => {
        const releasedAtMs = parallel ? new Map<string, number>() : await releaseTimes({ thread, task });
        const lined = addToThread({ thread, task, parallel, turnMs, nowMs: now(), releasedAtMs });
        return lined === undefined ? { thread, result: undefined } : { thread: lined.thread, result: lined.place };
      }),
    async leave({ task }) {
      const next = await change(task, (thread) => {
        const left = removeFromThread({ thread, id: task.id, nowMs: now() });
        return { thread: left.thread, result: left.next };
      });
      if (next === undefined) return;
      await queue.send({ body: JSON.stringify({ type: "thread_free", requestId: next }), group: queueGroupOf(task) });
    },
    async hold({ task, untilMs }) {
      await change(task, (thread) => ({ thread: holdThread({ thread, id: task.id, untilMs }), result: undefined }));
    },
    async asking({ task }) {
      const thread = await store.get({ id: threadIdOf(task) });
      return thread === undefined ? { now: [], before: [] } : findAskingTasks({ thread, id: task.id, nowMs: now() });
    },
    async isKnown({ message }) {
      const thread = await store.get({ id: threadIdOf({ thread: threadKeyOf(message) }) });
      // Of a thread from before replies counted nothing is known.
      if (thread?.sinceTs !== undefined && Number(thread.sinceTs) < Number(message.ts)) return "known";
      const { appId, channel, threadTs } = message;
      if (threadTs === undefined) return "unknown";
      const first = await taskOf(requestIdOf({ appId, channel, ts: threadTs }));
      if (first === undefined || first.message.unaddressed || first.thread !== threadKeyOf(message)) return "unknown";
      if (first.state === "received") return "undecided";
      // It may have failed before it had a place in its thread: the bot has said so there.
      const isAsked = first.outcome?.type !== "refused" && first.outcome?.type !== "canceling";
      return isAsked ? "known" : "unknown";
    },
    async cancelAll({ task, mayCancel }) {
      const thread = await store.get({ id: threadIdOf(task) });
      const nowMs = now();
      const meant = (thread?.tasks ?? []).filter(
        ({ ts, untilMs }) => untilMs > nowMs && Number(ts) < Number(task.message.ts),
      );
      const ids: string[] = [];
      for (const { id } of meant) {
        if (!(await mayCancel(id))) continue;
        ids.push(id);
        await queue.send({ body: JSON.stringify({ type: "cancel", requestId: id }), group: queueGroupOf(task) });
      }
      if (ids.length === 0) return { count: 0, isRepeated: false };
      const isRepeated = await change(task, async (before) => {
        const marked = markCanceled({ thread: before, ids });
        return { thread: marked, result: marked === before };
      });
      return { count: ids.length, isRepeated };
    },
  };
}

/** Undefined where the outcome is not known yet. */
function releaseTimeOf(task: Task | undefined): number | undefined {
  if (task?.state === "done") return 0;
  const outcomeAtMs = task?.state === "delivering" ? concludedAtMs(task) : undefined;
  return outcomeAtMs === undefined ? undefined : outcomeAtMs + threadReleaseMs;
}
