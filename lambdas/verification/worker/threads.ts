/** The acts on a thread's queue of tasks (`task/thread.ts`): join it, leave it and wake the next task, hold it, cancel its tasks. */

import type { ItemWrite, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import {
  absent,
  changeRecord,
  type Guess,
  type RecordMemory,
  withMemory,
} from "@sekisho/runtime/engine/records.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type { ThreadPosition } from "../task/events.ts";
import { concludedAtMs } from "../task/history.ts";
import type { UserMessage } from "../task/messages.ts";
import { firstDestination, type Policy, requestIdOf } from "../task/routing.ts";
import { queueGroupOf, type Task, type ThreadRoute, threadKeyOf } from "../task/task.ts";
import {
  type AskingTasks,
  addToThread,
  emptyThread,
  findAskingTasks,
  holdThread,
  markCanceled,
  recordLifeMs,
  removeFromThread,
  type Thread,
  tasksBefore,
  threadIdOf,
} from "../task/thread.ts";
import { decideRoute, routeOfFirstTask } from "../task/thread-route.ts";
import { deliveryMs, graceMs, threadReleaseMs } from "../task/time-limits.ts";

export type Threads = {
  /** Resolves to the task's position, or to why it has none. A repetition returns the current position. */
  joinThread(request: { task: Task }): Promise<ThreadPosition | "full" | "no_route">;
  leave(request: { task: Task }): Promise<void>;
  /**
   * Returns the write that leaves the thread, if no task waits there as far as this process knows. If its condition fails, `leave` is due.
   */
  releaseWrite(request: { task: Task }): ItemWrite | undefined;
  /** The request ids of the tasks that are under way in a thread, such as `C1/1700000000.000100`. */
  listTaskIds(request: { thread: string }): Promise<string[]>;
  /** True if no other task is under way in the task's thread. */
  isIdle(request: { task: Task }): Promise<boolean>;
  /** Keeps the thread for a task that asks a person until `untilMs`. Until then messages in the thread may be the reply. */
  hold(request: { task: Task; untilMs: number }): Promise<void>;
  /** Finds the tasks of the thread whose question this task's message may answer. */
  findAskingTasks(request: { task: Task }): Promise<AskingTasks>;
  /**
   * True if a person who may ask has asked the bot in the message's thread before, within 30 days. `undecided`: the thread's first message
   * asked the bot, and it is not known yet whether its writer may ask.
   */
  isKnown(request: { message: UserMessage }): Promise<"known" | "undecided" | "unknown">;
  /**
   * Cancels the tasks of the thread whose message is older than this task's and which `mayCancel` allows. Resolves to their number.
   * `isRepeated`: an earlier message had already canceled all of them.
   */
  cancelAll(request: {
    task: Task;
    mayCancel: (requestId: string) => Promise<boolean>;
  }): Promise<{ count: number; isRepeated: boolean }>;
};

/** Every method rejects if the store or the queue is unavailable, and may then be repeated. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createThreads(options: {
  store: TaskStore<Thread>;
  /** A task mostly leaves its thread as this process saw it last, so that the record need not be read again. */
  memory: RecordMemory<Thread>;
  /** By request id. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  queue: TaskQueue;
  policy: Policy;
  now: () => number;
}): Threads {
  const { memory, taskOf, queue, policy, now } = options;
  const store = withMemory(options.store, memory);
  type Change<T> = { thread: Thread; result: T };

  function change<T>(
    task: Task,
    decide: (thread: Thread) => Change<T> | Promise<Change<T>>,
    guess?: Guess<Thread>,
  ): Promise<T> {
    const id = threadIdOf(task);
    return changeRecord<Thread, T>({
      store,
      id,
      none: () => emptyThread({ id }),
      guess: memory.recall(id) ?? guess,
      async decide(thread) {
        const { thread: item, result } = await decide(thread);
        return { item, result };
      },
    });
  }

  /**
   * Returns when the tasks before this one release the thread, up to the first that still blocks it. A task that has an outcome, but whose
   * answer Slack refuses or whose worker died, must not block the thread until its deadline.
   */
  async function releaseTimes(thread: Thread, task: Task): Promise<Map<string, number>> {
    const times = new Map<string, number>();
    for (const id of tasksBefore({ thread, task, nowMs: now() })) {
      const releasedAtMs = releaseTimeOf(await taskOf(id));
      if (releasedAtMs === undefined) break;
      times.set(id, releasedAtMs);
      if (releasedAtMs > now()) break;
    }
    return times;
  }

  /** A record of version 1.0.0 does not have the thread's route, and an expired one is gone. The first task has it, if it is known. */
  async function routesOf(
    { routes, sinceTs }: Thread,
    { message: { appId, channel, ts, threadTs } }: Task,
  ): Promise<readonly ThreadRoute[]> {
    if (routes !== undefined) return routes;
    const mayHaveExpired = (Number(ts) - Number(threadTs)) * 1000 > recordLifeMs;
    const firstTs = sinceTs ?? (mayHaveExpired ? threadTs : undefined);
    if (firstTs === undefined) return [];
    const first = await taskOf(requestIdOf({ appId, channel, ts: firstTs }));
    return [routeOfFirstTask(first, policy)];
  }

  async function listTaskIds(request: { thread: string }): Promise<string[]> {
    const thread = await store.get({ id: threadIdOf(request) });
    return (thread?.tasks ?? []).filter(({ untilMs }) => untilMs > now()).map(({ id }) => id);
  }

  return {
    joinThread({ task }) {
      async function join(thread: Thread): Promise<Change<ThreadPosition | "full" | "no_route">> {
        const decision = decideRoute({ routes: await routesOf(thread, task), task, policy });
        const destination = decision && firstDestination(decision.route, policy);
        if (decision === undefined || destination === undefined)
          return { thread, result: "no_route" };
        const { routes } = decision;
        const parallel = destination.concurrency === "parallel";
        const turnMs = destination.deadlineMs + graceMs + deliveryMs;
        const releasedAtMs = parallel
          ? new Map<string, number>()
          : await releaseTimes(thread, task);
        const addition = addToThread({
          thread,
          task,
          routes,
          parallel,
          turnMs,
          nowMs: now(),
          releasedAtMs,
        });
        if (addition === undefined) return { thread, result: "full" };
        return { thread: addition.thread, result: { ...addition.position, routes } };
      }
      return change(task, join, beginsThread(task) ? absent : undefined);
    },
    async leave({ task }) {
      const next = await change(task, (thread) => {
        const removal = removeFromThread({ thread, id: task.id, nowMs: now() });
        return { thread: removal.thread, result: removal.next };
      });
      if (next === undefined) return;
      await queue.send({
        body: encodeQueueMessage({ type: "thread_free", requestId: next }),
        group: queueGroupOf(task),
      });
    },
    releaseWrite({ task }) {
      const thread = memory.recall(threadIdOf(task));
      if (thread === undefined) return undefined;
      const removal = removeFromThread({ thread, id: task.id, nowMs: now() });
      if (removal.thread === thread || removal.next !== undefined) return undefined;
      return { type: "replace", item: removal.thread };
    },
    listTaskIds,
    async isIdle({ task }) {
      return (await listTaskIds(task)).every((id) => id === task.id);
    },
    async hold({ task, untilMs }) {
      await change(task, (thread) => ({
        thread: holdThread({ thread, id: task.id, untilMs }),
        result: undefined,
      }));
    },
    async findAskingTasks({ task }) {
      const thread = await store.get({ id: threadIdOf(task) });
      return thread === undefined
        ? { now: [], before: [] }
        : findAskingTasks({ thread, id: task.id, nowMs: now() });
    },
    async isKnown({ message }) {
      const thread = await store.get({ id: threadIdOf({ thread: threadKeyOf(message) }) });
      // Without `sinceTs` the record does not say since when the bot is known.
      if (thread?.sinceTs !== undefined && Number(thread.sinceTs) < Number(message.ts))
        return "known";
      const { appId, channel, threadTs } = message;
      if (threadTs === undefined) return "unknown";
      const first = await taskOf(requestIdOf({ appId, channel, ts: threadTs }));
      if (first === undefined || first.message.unaddressed || first.thread !== threadKeyOf(message))
        return "unknown";
      if (first.state === "received") return "undecided";
      // A task that failed before it joined the thread counts too, because the bot has reported that in the thread.
      const isAsked = first.outcome?.type !== "refused" && first.outcome?.type !== "canceling";
      return isAsked ? "known" : "unknown";
    },
    async cancelAll({ task, mayCancel }) {
      const thread = await store.get({ id: threadIdOf(task) });
      const nowMs = now();
      const earlierTasks = (thread?.tasks ?? []).filter(
        ({ ts, untilMs }) => untilMs > nowMs && Number(ts) < Number(task.message.ts),
      );
      const ids: string[] = [];
      for (const { id } of earlierTasks) {
        if (!(await mayCancel(id))) continue;
        ids.push(id);
        await queue.send({
          body: encodeQueueMessage({ type: "cancel", requestId: id }),
          group: queueGroupOf(task),
        });
      }
      if (ids.length === 0) return { count: 0, isRepeated: false };
      const isRepeated = await change(task, async (thread) => {
        const markedThread = markCanceled({ thread, ids });
        return { thread: markedThread, result: markedThread === thread };
      });
      return { count: ids.length, isRepeated };
    },
  };
}

/** True if the task's message is likely the first one of its thread. */
function beginsThread({ message: { threadTs, command }, reconcile, retryOf }: Task): boolean {
  return (threadTs === undefined || command === true) && !reconcile && retryOf === undefined;
}

/** Returns when the task releases its thread, or undefined before its outcome is known. */
function releaseTimeOf(task: Task | undefined): number | undefined {
  if (task?.state === "done") return 0;
  const outcomeAtMs = task?.state === "delivering" ? concludedAtMs(task) : undefined;
  return outcomeAtMs === undefined ? undefined : outcomeAtMs + threadReleaseMs;
}
