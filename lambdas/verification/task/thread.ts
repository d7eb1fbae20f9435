/**
 * The queue of a thread: one record of its unfinished tasks. They begin one at a time, in the order of their messages. A task that holds
 * the thread too long no longer blocks the others.
 */
import * as z from "zod";
import type { ThreadPosition } from "./events.ts";
import { type Task, type ThreadRoute, threadRouteSchema } from "./task.ts";
import { maxAgeMs } from "./time-limits.ts";

/** Further tasks in the thread are refused. */
const maxTasks = 200;
const maxAsked = 10;
/** How long the thread counts as one in which the bot was asked. */
export const recordLifeMs = 30 * 24 * 3600_000;

const entrySchema = z.object({
  /** The request id. */
  id: z.string(),
  ts: z.string(),
  begun: z.boolean(),
  /** It waits for no task and blocks none. It is listed so that it can be canceled. */
  parallel: z.boolean(),
  /** No task waits for it after this time. */
  untilMs: z.int(),
  /** It has asked a person a question, so a message in the thread may be the reply. */
  asks: z.literal(true).optional(),
  /** A message in the thread has canceled it. */
  canceled: z.literal(true).optional(),
});

/** A record in the task store, with an id that no task has. */
export const threadSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("thread"),
  expiresAtMs: z.int(),
  /** The `ts` of the first message that asked the bot in this thread. */
  sinceTs: z.string().optional(),
  /** The latest tasks that asked a person and are no longer listed. A message that is processed again may have answered one of them. */
  asked: z.array(z.string()).optional(),
  /** In the order of the messages that chose them. Absent in a record of version 1.0.0. */
  routes: z.array(threadRouteSchema).optional(),
  tasks: z.array(entrySchema),
});
export type Thread = z.infer<typeof threadSchema>;

/** Like `parseTask`. */
export function parseThread(json: unknown): Thread {
  threadSchema.parse(json);
  return json as Thread;
}

type Named = Pick<Task, "id" | "threadRef"> & { message: Pick<Task["message"], "ts"> };

export function isThread(item: { state: string }): item is Thread {
  return item.state === "thread";
}

export function threadIdOf({ thread }: Pick<Task, "thread">): string {
  return `thread:${thread}`;
}

export function emptyThread({ id }: { id: string }): Thread {
  return { id, revision: 1, state: "thread", expiresAtMs: 0, tasks: [] };
}

/** Returns the ids of the tasks that this one waits for: those that have begun, and those with an earlier message. */
export function tasksBefore({
  thread,
  task,
  nowMs,
}: {
  thread: Thread;
  task: Named;
  nowMs: number;
}): string[] {
  const own = thread.tasks.find(({ id }) => id === task.id) ?? {
    id: task.id,
    ts: tsOf(task),
    begun: false,
  };
  if (own.begun) return [];
  return thread.tasks
    .filter((other) => other.id !== own.id && other.untilMs > nowMs && !other.parallel)
    .filter((other) => other.begun || isEarlier(other, own))
    .map(({ id }) => id);
}

/**
 * Adds the task unless it is listed, and lets it begin if no task is before it. Tasks that have begun stay in front, and the others follow
 * in the order of their messages. Returns undefined if the thread is full.
 */
export function addToThread({
  thread,
  task,
  routes = thread.routes,
  parallel,
  turnMs,
  nowMs,
  releasedAtMs = new Map(),
}: {
  thread: Thread;
  task: Named;
  /** The routes of the thread, with the one that the task chose. */
  routes?: readonly ThreadRoute[] | undefined;
  /** By request id, when a task with an outcome stops blocking others. */
  releasedAtMs?: ReadonlyMap<string, number>;
  parallel: boolean;
  /** How long it may hold the thread once it has begun. */
  turnMs: number;
  nowMs: number;
}): { thread: Thread; position: Omit<ThreadPosition, "routes"> } | undefined {
  const knownTask = thread.tasks.find(({ id }) => id === task.id);
  const others = thread.tasks
    .map((other) => ({
      ...other,
      untilMs: Math.min(other.untilMs, releasedAtMs.get(other.id) ?? other.untilMs),
    }))
    .filter(({ id, untilMs }) => id !== task.id && untilMs > nowMs);
  if (knownTask === undefined && others.length >= maxTasks) return undefined;
  const own = knownTask ?? {
    id: task.id,
    ts: tsOf(task),
    begun: false,
    parallel,
    untilMs: nowMs + maxAgeMs,
  };
  const earlierTasks = others.filter(
    (other) => other.begun || (!own.begun && isEarlier(other, own)),
  );
  const waitsFor = own.begun || parallel ? [] : earlierTasks.filter((other) => !other.parallel);
  const begins = waitsFor.length === 0;
  const placedTask = begins ? { ...own, begun: true, untilMs: nowMs + turnMs } : own;
  const laterTasks = others.filter((other) => !earlierTasks.includes(other));
  return {
    thread: {
      ...thread,
      ...rememberAsked(thread, [...others, own]),
      ...(routes && { routes: [...routes] }),
      sinceTs:
        thread.sinceTs !== undefined && Number(thread.sinceTs) < Number(own.ts)
          ? thread.sinceTs
          : own.ts,
      tasks: [...earlierTasks, placedTask, ...laterTasks],
      expiresAtMs: nowMs + recordLifeMs,
    },
    position: {
      queuePosition: waitsFor.length,
      freeAtMs: Math.max(nowMs, ...waitsFor.map(({ untilMs }) => untilMs)),
    },
  };
}

/** Removes the task. `next` is the id of the task that may now begin. */
export function removeFromThread({
  thread,
  id,
  nowMs,
}: {
  thread: Thread;
  id: string;
  nowMs: number;
}): {
  thread: Thread;
  next: string | undefined;
} {
  const tasks = thread.tasks.filter((other) => other.id !== id && other.untilMs > nowMs);
  const head = tasks.find(({ parallel }) => !parallel);
  const isSame = tasks.length === thread.tasks.length;
  return {
    thread: isSame ? thread : { ...thread, ...rememberAsked(thread, tasks), tasks },
    next: head?.begun === false ? head.id : undefined,
  };
}

/** Moves the tasks that asked a person and are not among `remaining` to `asked`. */
function rememberAsked(
  { tasks, asked: askedIds = [] }: Thread,
  remaining: readonly { id: string }[],
): Pick<Thread, "asked"> {
  const goneIds = tasks
    .filter(({ id, asks }) => asks && !remaining.some((other) => other.id === id))
    .map(({ id }) => id);
  return goneIds.length === 0 ? {} : { asked: [...askedIds, ...goneIds].slice(-maxAsked) };
}

/** Marks that the task asks a person, and extends its hold of the thread. */
export function holdThread({
  thread,
  id,
  untilMs,
}: {
  thread: Thread;
  id: string;
  untilMs: number;
}): Thread {
  const tasks = thread.tasks.map((task) =>
    task.id === id ? { ...task, untilMs, asks: true as const } : task,
  );
  return { ...thread, tasks, expiresAtMs: Math.max(thread.expiresAtMs, untilMs) };
}

/** Marks the tasks as canceled. Returns the same object if all of them were marked already. */
export function markCanceled({ thread, ids }: { thread: Thread; ids: readonly string[] }): Thread {
  const isNew = (task: Thread["tasks"][number]) => ids.includes(task.id) && !task.canceled;
  if (!thread.tasks.some(isNew)) return thread;
  return {
    ...thread,
    tasks: thread.tasks.map((task) => (isNew(task) ? { ...task, canceled: true } : task)),
  };
}

/**
 * Finds the tasks that the message `id` may answer, in the order of the thread: those that ask `now`, and those that asked `before`.
 * Returns none if the message itself is a task of the thread.
 */
export function findAskingTasks(query: { thread: Thread; id: string; nowMs: number }): AskingTasks {
  const { thread, nowMs } = query;
  if (thread.tasks.some(({ id }) => id === query.id)) return { now: [], before: [] };
  const now = thread.tasks
    .filter(({ asks, untilMs }) => asks === true && untilMs > nowMs)
    .map(({ id }) => id);
  return { now, before: thread.asked ?? [] };
}

/** By request id. */
export type AskingTasks = { now: string[]; before: string[] };

/** Returns the `ts` by Slack's clock. A slash command's own `ts` is by our clock, so its thread's is used. */
export function tsOf({ threadRef, message }: Named): string {
  return threadRef?.threadTs ?? message.ts;
}

function isEarlier(one: { ts: string; id: string }, other: { ts: string; id: string }): boolean {
  const difference = Number(one.ts) - Number(other.ts);
  return difference < 0 || (difference === 0 && one.id < other.id);
}
