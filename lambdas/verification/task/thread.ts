/**
 * The order of a thread: one record of the tasks that are under way in it.
 * Tasks of a thread begin one at a time, in the order of their messages; one that holds the thread longer than it may is passed.
 */
import * as z from "zod";
import type { ThreadPosition } from "./events.ts";
import { maxAgeMs } from "./step.ts";
import type { Task } from "./task.ts";

/** A thread in which so many wait is no conversation any more. */
const maxTasks = 200;
const maxAsked = 10;
/** For so long a reply in the thread is known to be one in a thread of the bot. */
const recordLifeMs = 30 * 24 * 3600_000;

const entrySchema = z.object({
  /** The request id. */
  id: z.string(),
  ts: z.string(),
  begun: z.boolean(),
  /** Neither waits for others nor do they wait for it; it is here so that it can be canceled. */
  parallel: z.boolean(),
  /** From then on nobody waits for it any longer. */
  untilMs: z.int(),
  /** It has asked a person: a message in the thread may be the answer. */
  asks: z.literal(true).optional(),
  /** A message in the thread has asked it to end. */
  canceled: z.literal(true).optional(),
});

/** A record of the task store, under an id that no task has. */
export const threadSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("thread"),
  expiresAtMs: z.int(),
  /** The `ts` of the first message by which the bot was asked here. */
  sinceTs: z.string().optional(),
  /** The latest tasks that asked a person and have left, or were passed: whose answer came last may still be found out. */
  asked: z.array(z.string()).optional(),
  tasks: z.array(entrySchema),
});
export type Thread = z.infer<typeof threadSchema>;

type Named = Pick<Task, "id" | "place"> & { message: Pick<Task["message"], "ts"> };

export function threadIdOf({ thread }: Pick<Task, "thread">): string {
  return `thread:${thread}`;
}

export function emptyThread({ id }: { id: string }): Thread {
  return { id, revision: 1, state: "thread", expiresAtMs: 0, tasks: [] };
}

/** What a task waits for: those that began, in front, then those whose message is earlier. */
export function tasksBefore({ thread, task, nowMs }: { thread: Thread; task: Named; nowMs: number }): string[] {
  const own = thread.tasks.find(({ id }) => id === task.id) ?? { id: task.id, ts: tsOf(task), begun: false };
  if (own.begun) return [];
  return thread.tasks
    .filter((other) => other.id !== own.id && other.untilMs > nowMs && !other.parallel)
    .filter((other) => other.begun || isEarlier(other, own))
    .map(({ id }) => id);
}

/**
 * Puts the task in its place, if it is not there yet, and lets it begin when nobody is before it: what has begun stays in
 * front, the others stand in the order of their messages. Undefined where the thread is full.
 */
export function addToThread({
  thread,
  task,
  parallel,
  turnMs,
  nowMs,
  releasedAtMs = new Map(),
}: {
  thread: Thread;
  task: Named;
  /** By request id: when a task whose outcome is known is waited for no longer. */
  releasedAtMs?: ReadonlyMap<string, number>;
  parallel: boolean;
  /** How long it may hold the thread once it has begun. */
  turnMs: number;
  nowMs: number;
}): { thread: Thread; place: ThreadPosition } | undefined {
  const known = thread.tasks.find(({ id }) => id === task.id);
  const others = thread.tasks
    .map((other) => ({ ...other, untilMs: Math.min(other.untilMs, releasedAtMs.get(other.id) ?? other.untilMs) }))
    .filter(({ id, untilMs }) => id !== task.id && untilMs > nowMs);
  if (known === undefined && others.length >= maxTasks) return undefined;
  const own = known ?? { id: task.id, ts: tsOf(task), begun: false, parallel, untilMs: nowMs + maxAgeMs };
  const before = others.filter((other) => other.begun || (!own.begun && isEarlier(other, own)));
  const waitsFor = own.begun || parallel ? [] : before.filter((other) => !other.parallel);
  const begins = waitsFor.length === 0;
  const placed = begins ? { ...own, begun: true, untilMs: nowMs + turnMs } : own;
  const after = others.filter((other) => !before.includes(other));
  return {
    thread: {
      ...thread,
      ...askedBy(thread, [...others, own]),
      sinceTs: thread.sinceTs !== undefined && Number(thread.sinceTs) < Number(own.ts) ? thread.sinceTs : own.ts,
      tasks: [...before, placed, ...after],
      expiresAtMs: nowMs + recordLifeMs,
    },
    place: { queuePosition: waitsFor.length, freeAtMs: Math.max(nowMs, ...waitsFor.map(({ untilMs }) => untilMs)) },
  };
}

/** Takes the task out. `next` is the one that may begin now, if it has not. */
export function removeFromThread({ thread, id, nowMs }: { thread: Thread; id: string; nowMs: number }): {
  thread: Thread;
  next: string | undefined;
} {
  const tasks = thread.tasks.filter((other) => other.id !== id && other.untilMs > nowMs);
  const head = tasks.find(({ parallel }) => !parallel);
  const isSame = tasks.length === thread.tasks.length;
  return {
    thread: isSame ? thread : { ...thread, ...askedBy(thread, tasks), tasks },
    next: head?.begun === false ? head.id : undefined,
  };
}

/** Those that asked and are not among `kept` any more: they left, or were passed. */
function askedBy({ tasks, asked = [] }: Thread, kept: readonly { id: string }[]): Pick<Thread, "asked"> {
  const gone = tasks.filter(({ id, asks }) => asks && !kept.some((other) => other.id === id)).map(({ id }) => id);
  return gone.length === 0 ? {} : { asked: [...asked, ...gone].slice(-maxAsked) };
}

/** The task asks, and holds its place for as long as that may take. */
export function holdThread({ thread, id, untilMs }: { thread: Thread; id: string; untilMs: number }): Thread {
  const tasks = thread.tasks.map((task) => (task.id === id ? { ...task, untilMs, asks: true as const } : task));
  return { ...thread, tasks, expiresAtMs: Math.max(thread.expiresAtMs, untilMs) };
}

/** Those tasks were asked to end. The same object where all of them were before. */
export function markCanceled({ thread, ids }: { thread: Thread; ids: readonly string[] }): Thread {
  const isNew = (task: Thread["tasks"][number]) => ids.includes(task.id) && !task.canceled;
  if (!thread.tasks.some(isNew)) return thread;
  return { ...thread, tasks: thread.tasks.map((task) => (isNew(task) ? { ...task, canceled: true } : task)) };
}

/**
 * The tasks that may wait for the answer that the message `id` may be, the first in the thread first; and those that did not
 * long ago. None where the message has a place of its own: it is a task already.
 */
export function findAskingTasks({
  thread,
  id: own,
  nowMs,
}: {
  thread: Thread;
  id: string;
  nowMs: number;
}): AskingTasks {
  if (thread.tasks.some(({ id }) => id === own)) return { now: [], before: [] };
  const now = thread.tasks.filter(({ asks, untilMs }) => asks === true && untilMs > nowMs).map(({ id }) => id);
  return { now, before: thread.asked ?? [] };
}

/** By request id. */
export type AskingTasks = { now: string[]; before: string[] };

/** By Slack's clock, as the replies: that of a slash command's receipt is ours. */
function tsOf({ place, message }: Named): string {
  return place?.threadTs ?? message.ts;
}

function isEarlier(one: { ts: string; id: string }, other: { ts: string; id: string }): boolean {
  const difference = Number(one.ts) - Number(other.ts);
  return difference < 0 || (difference === 0 && one.id < other.id);
}
