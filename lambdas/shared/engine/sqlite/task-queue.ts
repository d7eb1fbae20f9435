/** Task queues in sqlite: delay, visibility timeout, receive count and dead letters, after the model of SQS. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { QueueConsumer, QueueDepth, ReceivedMessage, TaskQueue } from "../ports.ts";
import type { Database } from "./database.ts";

const maxBodyBytes = 256 * 1024;
/** How late a message from another process, or one whose time has come, may be noticed. */
const pollMs = 200;

type Row = { seq: number; body: string; sent_at_ms: number; receive_count: number };

/**
 * Queues are told apart by `name`. A message that was received `maxReceiveCount` times and is due again moves to
 * `deadLetterQueue`, another name in the same file; without one it comes back for ever.
 * `send` throws `payload_too_large`; `receive` resolves to nothing when its signal aborts.
 */
export function createSqliteQueue({
  database,
  name,
  maxReceiveCount = 5,
  deadLetterQueue,
  now = Date.now,
}: {
  database: Database;
  name: string;
  maxReceiveCount?: number;
  deadLetterQueue?: string;
  now?: () => number;
}): TaskQueue & QueueConsumer {
  const { changeSignal } = database;
  const insert = database.prepare("INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES (?, ?, ?, ?)");
  const nextDue = database.prepare("SELECT MIN(visible_at_ms) AS at_ms FROM messages WHERE queue = ?");
  const selectDue = database.prepare(
    `SELECT seq, body, sent_at_ms, receive_count FROM messages
     WHERE queue = ? AND visible_at_ms <= ? ORDER BY visible_at_ms, seq LIMIT ?`,
  );
  const hide = database.prepare(
    "UPDATE messages SET visible_at_ms = ?, receive_count = receive_count + 1 WHERE seq = ?",
  );
  const bury = database.prepare("UPDATE messages SET queue = ?, visible_at_ms = ?, receive_count = 0 WHERE seq = ?");
  const remove = database.prepare(
    "DELETE FROM messages WHERE seq = ? AND receive_count = ? AND queue = ? AND visible_at_ms > ?",
  );

  /** Inside a write. */
  function claimDue({ max, visibilityTimeoutMs }: { max: number; visibilityTimeoutMs: number }): {
    messages: ReceivedMessage[];
    buried: number;
  } {
    const nowMs = now();
    const messages: ReceivedMessage[] = [];
    let buried = 0;
    for (const row of selectDue.all(name, nowMs, max) as Row[]) {
      if (deadLetterQueue !== undefined && row.receive_count >= maxReceiveCount) {
        bury.run(deadLetterQueue, nowMs, row.seq);
        buried += 1;
        continue;
      }
      const receiveCount = row.receive_count + 1;
      hide.run(nowMs + visibilityTimeoutMs, row.seq);
      // Names the delivery: in one queue a message is never given out twice with the same count.
      const receipt = `${row.seq}.${receiveCount}`;
      messages.push({ body: row.body, receipt, receiveCount, sentAtMs: row.sent_at_ms });
    }
    return { messages, buried };
  }

  return {
    async send({ body, delayMs = 0 }) {
      if (Buffer.byteLength(body) > maxBodyBytes) throw new SekishoError("payload_too_large");
      await database.write(() => {
        const nowMs = now();
        insert.run(name, body, nowMs, nowMs + delayMs);
      });
      changeSignal.ring(name);
    },

    async receive({ max, visibilityTimeoutMs, waitMs, signal }) {
      const endAtMs = now() + waitMs;
      while (!signal?.aborted) {
        const nowMs = now();
        // A plain read, so that an idle queue takes no lock and writes nothing.
        const dueAtMs = (nextDue.get(name)?.at_ms ?? Number.POSITIVE_INFINITY) as number;
        if (dueAtMs <= nowMs) {
          const { messages, buried } = await database.write(() => claimDue({ max, visibilityTimeoutMs }));
          if (buried > 0 && deadLetterQueue !== undefined) changeSignal.ring(deadLetterQueue);
          if (messages.length > 0) return messages;
        } else {
          if (nowMs >= endAtMs) return [];
          await changeSignal.wait({ name, ms: Math.min(pollMs, dueAtMs - nowMs, endAtMs - nowMs), signal });
        }
      }
      return [];
    },

    async finish({ receipt }) {
      const [seq = "", receiveCount = ""] = receipt.split(".");
      return database.write(() => remove.run(Number(seq), Number(receiveCount), name, now()).changes === 1);
    },
  };
}

// How many messages of each queue of a file are due and wait, and for how long.

/** Reads alone. A message that somebody has received, or whose delay is not over, does not wait. */
export function createQueueDepths({
  database,
  names,
  now = Date.now,
}: {
  database: Database;
  names: readonly string[];
  now?: () => number;
}): () => QueueDepth[] {
  const due = database.prepare(
    "SELECT COUNT(*) AS messages, MIN(visible_at_ms) AS since_ms FROM messages WHERE queue = ? AND visible_at_ms <= ?",
  );
  return () => {
    const nowMs = now();
    return names.map((queue) => {
      const { messages, since_ms } = due.get(queue, nowMs) as { messages: number; since_ms: number | null };
      return { queue, messages, oldestMs: nowMs - (since_ms ?? nowMs) };
    });
  };
}
