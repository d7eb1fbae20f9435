/** A queue with delay, visibility timeout, receive count and dead letters, behind the faults of its engine. */
import {
  createDelayFields,
  type MessageAttributes,
} from "@sekisho/runtime/engine/aws/sqs-message.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import type { Point } from "./faults.ts";
import { queuedName } from "./names.ts";
import { operate } from "./operate.ts";
import { isDuring, type Party } from "./outages.ts";
import { outside } from "./processes.ts";
import { noteLostMembers } from "./versions/kept.ts";
import { chance, later, worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

export type Message = {
  number: number;
  body: string;
  group: string | undefined;
  attributes: MessageAttributes;
  sentAtMs: number;
  visibleAtMs: number;
  receiveCount: number;
};

/** One message given to one receiver; void once the message was given to someone else. */
export type Delivery = { message: Message; receiveCount: number };

export type SimQueue = {
  sender: TaskQueue;
  /** Puts it there, whatever is going on. */
  put(request: {
    body: string;
    delayMs?: number;
    group?: string | undefined;
    attributes?: MessageAttributes;
  }): void;
  isDue(): boolean;
  /** The due messages, which are hidden from then on. */
  take(request: { max: number; visibilityTimeoutMs: number }): Delivery[];
  hideFor(request: { delivery: Delivery; ms: number }): void;
  remove(delivery: Delivery): boolean;
  /** Called whenever something is due. */
  listen(listener: () => void): void;
  messages: readonly Message[];
  /** The subject of a message of this queue. */
  describe(message: { body: string }): string;
  /** The same of the one that is due first. */
  first(): string;
};

const times = { usualMs: 10, giveUpMs: 3000, landMs: 5000 };
/** Times are fractions: a bell that is set for a moment can ring a trifle before it. */
const roundingMs = 0.001;
const outOfReach = () => new Error("the queue is out of reach");
const failures = { refused: outOfReach, unknown: outOfReach };

export function createSimQueue({
  world,
  name,
  point,
  label = "",
  deadLetters,
  maxReceiveCount = Number.POSITIVE_INFINITY,
}: {
  world: World;
  /** Its name in a recorded moment. */
  name: string;
  /** At which messages are sent. */
  point: Point;
  /** Stands before what its messages are about, where another queue has the same points. */
  label?: string;
  deadLetters?: SimQueue;
  maxReceiveCount?: number;
}): SimQueue {
  const messages: Message[] = (world.from?.queues[name] ?? []).map((message) => ({ ...message }));
  const listeners: (() => void)[] = [];
  const { isOrdered } = world.engine;
  const party: Party = point === "work.send" ? "tasks" : "queue";
  const outages = world.outages.filter(({ parties }) => parties.includes(party));
  let count = messages.length === 0 ? 0 : Math.max(...messages.map(({ number }) => number)) + 1;
  world.queues.set(name, messages);
  for (const { visibleAtMs } of messages) ringAt(visibleAtMs);
  for (const { fromSeconds, seconds } of outages)
    ringAt(world.startMs + 1000 * (fromSeconds + seconds));

  function ringAt(atMs: number): void {
    const ring = () => {
      if (messages.some(isVisible)) for (const listener of listeners) listener();
    };
    outside(() => later({ delayMs: atMs - worldMs(), run: ring }));
  }

  function put({
    body,
    delayMs = 0,
    group,
    attributes = {},
  }: Parameters<SimQueue["put"]>[0]): void {
    const visibleAtMs = worldMs() + delayMs;
    messages.push({
      number: count++,
      body,
      group,
      attributes,
      sentAtMs: worldMs(),
      visibleAtMs,
      receiveCount: 0,
    });
    world.leaks.see(body);
    noteLostMembers({ world, body });
    world.onQueued(name, body);
    noteAccepted(world, body);
    noteLeft({ world, body, dueMs: visibleAtMs });
    ringAt(visibleAtMs);
  }

  /** As SQS: whole seconds, at most 900 of them, and a message that is to wait longer says so itself. */
  function putChained({
    body,
    delayMs = 0,
    group,
  }: {
    body: string;
    delayMs?: number;
    group?: string;
  }): void {
    const { DelaySeconds = 0, MessageAttributes = {} } = createDelayFields({
      delayMs,
      nowMs: Date.now(),
    });
    put({ body, delayMs: DelaySeconds * 1000, group, attributes: MessageAttributes });
  }

  /** Nothing comes out of it while it is away. */
  function isAway(): boolean {
    return outages.some((outage) => isDuring(outage, worldMs() - world.startMs));
  }

  function isVisible({ visibleAtMs }: Message): boolean {
    return visibleAtMs <= worldMs() + roundingMs;
  }

  function dueOnes(): Message[] {
    return messages
      .filter(isVisible)
      .sort((a, b) => a.visibleAtMs - b.visibleAtMs || a.number - b.number);
  }

  function drop(message: Message): void {
    const index = messages.indexOf(message);
    if (index >= 0) messages.splice(index, 1);
  }

  function describe({ body }: { body: string }): string {
    return `${label}${queuedName({ names: world.names, body })}`;
  }

  return {
    messages,
    describe,
    first: () => describe(dueOnes()[0] ?? { body: "{}" }),
    put,
    isDue: () => messages.some(isVisible) && !isAway(),
    sender: {
      send: (request) =>
        operate({
          world,
          point,
          about: () => describe(request),
          detail: () =>
            delayMsOf(request) > 0 ? `in ${(delayMsOf(request) / 1000).toFixed(1)} s` : "",
          times,
          failures,
          effect: () => (isOrdered ? put(request) : putChained(request)),
        }),
    },
    take({ max, visibilityTimeoutMs }) {
      if (isAway()) return [];
      const due = dueOnes();
      if (world.isRestless && !isOrdered) due.sort(() => chance() - 0.5);
      const taken: Delivery[] = [];
      for (const message of due) {
        if (taken.length >= max) break;
        if (deadLetters !== undefined && message.receiveCount >= maxReceiveCount) {
          drop(message);
          deadLetters.put({ body: message.body, group: message.group });
          continue;
        }
        message.receiveCount += 1;
        message.visibleAtMs = worldMs() + visibilityTimeoutMs;
        ringAt(message.visibleAtMs);
        taken.push({ message, receiveCount: message.receiveCount });
      }
      return taken;
    },
    hideFor({ delivery: { message, receiveCount }, ms }) {
      if (message.receiveCount !== receiveCount) return;
      message.visibleAtMs = worldMs() + ms;
      ringAt(message.visibleAtMs);
    },
    remove({ message, receiveCount }) {
      const isOurs = messages.includes(message) && message.receiveCount === receiveCount;
      if (isOurs) drop(message);
      return isOurs;
    },
    listen: (listener) => void listeners.push(listener),
  };
}

function delayMsOf({ delayMs = 0 }: { delayMs?: number }): number {
  return delayMs;
}

function noteAccepted({ acceptedAtMs }: World, body: string): void {
  if (!/^\{"type":"(next_)?(ask|message_change)"/.test(body)) return;
  const { requestId } = JSON.parse(body) as { requestId: string };
  if (!acceptedAtMs.has(requestId)) acceptedAtMs.set(requestId, worldMs());
}

function noteLeft({ world, body, dueMs }: { world: World; body: string; dueMs: number }): void {
  if (!body.includes('"leftSinceMs":')) return;
  const { leftMs, copies } = world.messagesLeft.get(body) ?? { leftMs: worldMs(), copies: 0 };
  world.messagesLeft.set(body, { leftMs, copies: copies + 1, dueMs });
}
