/** The cases that the task queue of every engine must pass, with empty queues. */
import { expect } from "@jest/globals";
import type { QueueConsumer, ReceivedMessage, TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import type { Clock } from "./clock.ts";

export type Queue = TaskQueue & QueueConsumer;

export type QueueWorld = {
  /** A message that was received three times moves to `deadLetters` when it is due again. */
  queue: Queue;
  deadLetters: Queue;
  /** Opens a second client of `queue`, as another process would. */
  openAgain(): Promise<Queue>;
  clock: Clock;
};

export type QueueCase = { name: string; run: (world: QueueWorld) => Promise<void> };

export const maxReceiveCount = 3;
const visibilityTimeoutMs = 2000;

export const taskQueueCases: readonly QueueCase[] = [
  {
    name: "delivers a message unchanged, with the receive count 1 and the time it was sent",
    run: async ({ queue, clock }) => {
      const beforeMs = clock.nowMs();
      const body = JSON.stringify({ text: "関所 🏯 ' \" \n" });
      await queue.send({ body });
      const [message, ...rest] = await receive(queue);
      expect(rest).toEqual([]);
      expect(message).toMatchObject({ body, receiveCount: 1 });
      expect(message?.sentAtMs).toBeGreaterThanOrEqual(beforeMs);
      expect(message?.sentAtMs).toBeLessThanOrEqual(clock.nowMs());
    },
  },
  {
    name: "never delivers a finished message again",
    run: async ({ queue, clock }) => {
      await queue.send({ body: "once" });
      const [message] = await receive(queue);
      expect(await queue.finish({ receipt: message?.receipt ?? "" })).toBe(true);
      await clock.advance({ ms: visibilityTimeoutMs + 1000 });
      expect(await receive(queue)).toEqual([]);
    },
  },
  {
    name: "delivers a received message again only after its visibility timeout",
    run: async ({ queue, openAgain, clock }) => {
      await queue.send({ body: "again" });
      const [first] = await receive(queue);
      expect(await receive(queue)).toEqual([]);
      expect(await receive(await openAgain())).toEqual([]);
      await clock.advance({ ms: visibilityTimeoutMs });
      const [second] = await receive(queue);
      expect(second).toMatchObject({ body: "again", receiveCount: 2, sentAtMs: first?.sentAtMs });
      expect(second?.receipt).not.toBe(first?.receipt);
    },
  },
  {
    name: "rejects the receipt of a message that another receiver holds by now",
    run: async ({ queue, clock }) => {
      await queue.send({ body: "mine" });
      const [first] = await receive(queue);
      await clock.advance({ ms: visibilityTimeoutMs });
      const [second] = await receive(queue);
      expect(await queue.finish({ receipt: first?.receipt ?? "" })).toBe(false);
      expect(await queue.finish({ receipt: second?.receipt ?? "" })).toBe(true);
    },
  },
  {
    name: "keeps a delay with a fraction of a millisecond",
    run: async ({ queue, clock }) => {
      await queue.send({ body: "later", delayMs: 1000.4 });
      await clock.advance({ ms: 2000 });
      expect((await receive(queue)).map(({ body }) => body)).toEqual(["later"]);
    },
  },
  {
    name: "delivers a delayed message no earlier than its time",
    run: async ({ queue, clock }) => {
      await queue.send({ body: "later", delayMs: 2000 });
      await queue.send({ body: "now" });
      expect(await receive(queue)).toMatchObject([{ body: "now" }]);
      expect(await receive(queue)).toEqual([]);
      await clock.advance({ ms: 2000 });
      expect(bodiesOf(await receive(queue))).toContain("later");
    },
  },
  {
    name: "delivers every message to one of several concurrent receivers, each within its limit",
    run: async ({ queue, openAgain }) => {
      const bodies = Array.from({ length: 40 }, (_, number) => `message ${number}`);
      await Promise.all(bodies.map((body) => queue.send({ body })));
      const messages = (
        await Promise.all([queue, await openAgain(), queue, queue].map(drain))
      ).flat();
      expect(messages.toSorted()).toEqual(bodies.toSorted());
    },
  },
  {
    name: "delivers to a waiting receiver what is sent meanwhile, by its own or another client",
    run: async ({ queue, openAgain }) => {
      const other = await openAgain();
      for (const sender of [queue, other]) {
        const waiting = queue.receive({ max: 10, visibilityTimeoutMs, waitMs: 20_000 });
        await sender.send({ body: "here" });
        const messages = await waiting;
        expect(bodiesOf(messages)).toEqual(["here"]);
        for (const { receipt } of messages) await queue.finish({ receipt });
      }
    },
  },
  {
    name: "delivers a delayed message to a waiting receiver when it is due",
    run: async ({ queue, clock }) => {
      await queue.send({ body: "later", delayMs: 1000 });
      const waiting = queue.receive({ max: 10, visibilityTimeoutMs, waitMs: 20_000 });
      await clock.advance({ ms: 1000 });
      expect(await waiting).toMatchObject([{ body: "later" }]);
    },
  },
  {
    name: "delivers nothing to a receiver after its time limit",
    run: async ({ queue, clock }) => {
      const waiting = queue.receive({ max: 10, visibilityTimeoutMs, waitMs: 1000 });
      await clock.advance({ ms: 1000 });
      expect(await waiting).toEqual([]);
    },
  },
  {
    name: "delivers nothing to an aborted receiver, and later messages to others",
    run: async ({ queue }) => {
      const stop = new AbortController();
      const waiting = queue.receive({
        max: 10,
        visibilityTimeoutMs,
        waitMs: 20_000,
        signal: stop.signal,
      });
      stop.abort();
      expect(await waiting).toEqual([]);
      await queue.send({ body: "for others" });
      expect(await receive(queue)).toMatchObject([{ body: "for others" }]);
    },
  },
  {
    name: "moves a message that is never finished to the dead letters, once and unchanged",
    run: async ({ queue, deadLetters, clock }) => {
      await queue.send({ body: "poison" });
      for (let count = 1; count <= maxReceiveCount; count += 1) {
        expect(await receive(queue)).toMatchObject([{ body: "poison", receiveCount: count }]);
        expect(await receive(deadLetters)).toEqual([]);
        await clock.advance({ ms: visibilityTimeoutMs });
      }
      expect(await receive(queue)).toEqual([]);
      const [dead, ...rest] = await receive(deadLetters);
      expect(rest).toEqual([]);
      expect(dead?.body).toBe("poison");
      expect(await deadLetters.finish({ receipt: dead?.receipt ?? "" })).toBe(true);
    },
  },
  {
    name: "does not find a dead letter by a receipt of the queue",
    run: async ({ queue, deadLetters, clock }) => {
      await queue.send({ body: "poison" });
      const receipts: string[] = [];
      for (let count = 1; count <= maxReceiveCount; count += 1) {
        for (const { receipt } of await receive(queue)) receipts.push(receipt);
        await clock.advance({ ms: visibilityTimeoutMs });
      }
      await receive(queue);
      expect(await receive(deadLetters)).toHaveLength(1);
      for (const receipt of receipts) expect(await queue.finish({ receipt })).toBe(false);
      await clock.advance({ ms: visibilityTimeoutMs });
      expect(await receive(deadLetters)).toMatchObject([{ body: "poison" }]);
    },
  },
  {
    name: "delivers JSON of any text with the same meaning, even of unpaired surrogates",
    run: async ({ queue }) => {
      const text = "\u007f\u0085\u2028\ufdd0\ufeff\ufffe\uffff🏯";
      const writtenText = JSON.stringify({ text: `\u0000\u0007\u001b\ud800 \udc00${text}` });
      for (const body of [writtenText, `{"text":"${text}"}`]) {
        await queue.send({ body });
        const [message] = await receive(queue);
        expect(JSON.parse(message?.body ?? "")).toEqual(JSON.parse(body));
        await queue.finish({ receipt: message?.receipt ?? "" });
      }
    },
  },
  {
    name: "delivers messages with any group or without one",
    run: async ({ queue, clock }) => {
      const groups = [undefined, "", "T0123", "T0124", "team 関", "x".repeat(200)];
      for (const [number, group] of groups.entries()) {
        await queue.send({ body: `message ${number}`, ...(group === undefined ? {} : { group }) });
      }
      await queue.send({ body: "later", group: "T0123", delayMs: 1000 });
      expect((await drain(queue)).toSorted()).toEqual(
        groups.map((_, number) => `message ${number}`),
      );
      await clock.advance({ ms: 1000 });
      expect(await drain(queue)).toEqual(["later"]);
    },
  },
  {
    name: "accepts a body of 256 KiB and refuses a larger one",
    run: async ({ queue }) => {
      const body = `${"関".repeat(87_381)}x`;
      expect(Buffer.byteLength(body)).toBe(256 * 1024);
      await queue.send({ body });
      await expect(queue.send({ body: `${body}x` })).rejects.toMatchObject({
        reason: "payload_too_large",
      });
      const [message, ...rest] = await receive(queue);
      expect(rest).toEqual([]);
      expect(message?.body === body).toBe(true);
    },
  },
];

function receive(queue: Queue): Promise<ReceivedMessage[]> {
  return queue.receive({ max: 10, visibilityTimeoutMs, waitMs: 0 });
}

function bodiesOf(messages: readonly ReceivedMessage[]): string[] {
  return messages.map(({ body }) => body);
}

/** Receives and finishes messages until the queue is empty. */
async function drain(queue: Queue): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const messages = await queue.receive({ max: 4, visibilityTimeoutMs: 60_000, waitMs: 0 });
    if (messages.length === 0) return bodies;
    expect(messages.length).toBeLessThanOrEqual(4);
    bodies.push(...bodiesOf(messages));
    await Promise.all(messages.map(({ receipt }) => queue.finish({ receipt })));
  }
}
