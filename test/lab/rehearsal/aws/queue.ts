/** A standard queue of SQS in memory: delays, visibility, receive counts, redrive, and duplicate deliveries. */
import { hash, randomUUID } from "node:crypto";

export type SentMessage = {
  body: string;
  delaySeconds?: number | undefined;
  groupId?: string | undefined;
  attributes?: unknown;
  /** The sender's trace header. The message keeps it when it is moved to another queue. */
  trace?: string | undefined;
};

export type MovedMessage = SentMessage & { id: string; sentAtMs: number };

type Message = Omit<SentMessage, "delaySeconds"> & {
  id: string;
  sentAtMs: number;
  /** When its age starts to count. AWS does not say so for a delayed message. Here it is the end of the delay. */
  bornAtMs: number;
  /** When it can be received. */
  dueAtMs: number;
  /** The reason why it waits. A due message can be received in any state. */
  state: "delayed" | "visible" | "hidden";
  receives: number;
  firstReceivedAtMs?: number;
  receipt?: string;
  /** A copy that a server of SQS kept. It is delivered once, even if the message was deleted. */
  isCopy: boolean;
};

export type Delivered = {
  MessageId: string;
  ReceiptHandle: string;
  Body: string;
  MD5OfBody: string;
  Attributes: Record<string, string>;
  MessageAttributes?: unknown;
};

export type Depth = { visible: number; notVisible: number; delayed: number; oldestSeconds: number };

export type Queue = ReturnType<typeof createQueue>;

/** Each `every`th message is delivered twice, counted over all queues. May change at any time. */
export type Duplicates = { every: number; counted: number };

/** SQS leaves messages that were received more often out of the age of the oldest message. */
const mostReceivesInAge = 3;

export function createQueue({
  visibilitySeconds,
  delaySeconds = 0,
  redrive,
  duplicates,
  now = Date.now,
}: {
  visibilitySeconds: number;
  delaySeconds?: number;
  redrive?: { maxReceiveCount: number; take: (message: MovedMessage) => void };
  duplicates: Duplicates;
  now?: () => number;
}) {
  const messages = new Set<Message>();
  const receipts = new Set<string>();
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of [...listeners]) listener();
  };
  const isSpent = ({ isCopy, receives, dueAtMs }: Message) =>
    isCopy && receives > 0 && dueAtMs <= now();
  const isDue = (message: Message) => message.dueAtMs <= now() && !isSpent(message);
  const withReceipt = (receipt: string) =>
    [...messages].find((message) => message.receipt === receipt);

  function add(message: Message): void {
    messages.add(message);
    changed();
  }

  function deliver(message: Message, hiddenSeconds: number): Delivered {
    const { id, body, trace, groupId, attributes, sentAtMs } = message;
    const nowMs = now();
    message.receives++;
    message.firstReceivedAtMs ??= nowMs;
    message.receipt = randomUUID();
    receipts.add(message.receipt);
    message.state = "hidden";
    message.dueAtMs = nowMs + hiddenSeconds * 1000;
    return {
      MessageId: id,
      ReceiptHandle: message.receipt,
      Body: body,
      MD5OfBody: hash("md5", body),
      Attributes: {
        ApproximateReceiveCount: String(message.receives),
        ApproximateFirstReceiveTimestamp: String(message.firstReceivedAtMs),
        SentTimestamp: String(sentAtMs),
        SenderId: "AROAEXAMPLE:rehearsal",
        ...(groupId === undefined ? {} : { MessageGroupId: groupId }),
        ...(trace === undefined ? {} : { AWSTraceHeader: trace }),
      },
      ...(attributes === undefined ? {} : { MessageAttributes: attributes }),
    };
  }

  return {
    /** Returns the id of the message. */
    send({ delaySeconds: ownDelay = delaySeconds, ...sending }: SentMessage): string {
      const nowMs = now();
      const id = randomUUID();
      duplicates.counted++;
      const state = ownDelay > 0 ? "delayed" : "visible";
      const message: Message = {
        ...sending,
        id,
        sentAtMs: nowMs,
        bornAtMs: nowMs + ownDelay * 1000,
        dueAtMs: nowMs + ownDelay * 1000,
        state,
        receives: 0,
        isCopy: false,
      };
      add(message);
      if (duplicates.counted % duplicates.every === 0) add({ ...message, isCopy: true });
      return id;
    },
    /** Takes a message over from another queue. */
    take({ id, sentAtMs, body, trace, groupId, attributes }: MovedMessage): void {
      const more = { state: "visible", dueAtMs: now(), receives: 0, isCopy: false } as const;
      // In a dead-letter queue a message keeps its timestamp, so its age counts from its first sending.
      add({ id, sentAtMs, bornAtMs: sentAtMs, body, trace, groupId, attributes, ...more });
    },
    receive({
      most,
      hiddenSeconds = visibilitySeconds,
    }: {
      most: number;
      hiddenSeconds?: number | undefined;
    }): Delivered[] {
      const delivered: Delivered[] = [];
      for (const copy of [...messages].filter(isSpent)) messages.delete(copy);
      for (const message of [...messages].filter(isDue)) {
        if (redrive !== undefined && message.receives >= redrive.maxReceiveCount) {
          messages.delete(message);
          redrive.take(message);
          continue;
        }
        // One response never holds two deliveries of one message.
        if (delivered.length >= most || delivered.some(({ MessageId }) => MessageId === message.id))
          continue;
        delivered.push(deliver(message, hiddenSeconds));
      }
      return delivered;
    },
    /** Like SQS, accepts the receipt of a message that is gone. Returns false for a receipt that was never given out. */
    remove(receipt: string): boolean {
      const message = withReceipt(receipt);
      if (message !== undefined) messages.delete(message);
      return receipts.has(receipt);
    },
    hide({ receipt, seconds }: { receipt: string; seconds: number }): boolean {
      const message = withReceipt(receipt);
      if (message !== undefined) message.dueAtMs = now() + seconds * 1000;
      changed();
      return receipts.has(receipt);
    },
    /** Returns what can be received now, without receiving it. */
    bodies: () => [...messages].filter(isDue).map(({ body }) => body),
    depth(): Depth {
      const waiting = [...messages].filter(({ dueAtMs }) => dueAtMs > now());
      const due = [...messages].filter(isDue);
      const hidden = waiting.filter(({ state }) => state === "hidden");
      const active = [...due, ...hidden].filter(({ receives }) => receives < mostReceivesInAge);
      const oldestMs =
        active.length === 0 ? 0 : now() - Math.min(...active.map(({ bornAtMs }) => bornAtMs));
      return {
        visible: due.length,
        notVisible: hidden.length,
        delayed: waiting.length - hidden.length,
        oldestSeconds: oldestMs / 1000,
      };
    },
    /** Returns when the next waiting message can be received. */
    nextDueMs(): number | undefined {
      const due = [...messages]
        .filter((message) => !isSpent(message))
        .map(({ dueAtMs }) => dueAtMs);
      return due.length === 0 ? undefined : Math.min(...due);
    },
    /** Calls the listener when a message may have become receivable. Returns a function that removes it. */
    onChange(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
