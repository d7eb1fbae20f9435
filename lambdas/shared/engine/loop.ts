/** The local loop: receives from a queue and handles a bounded number of messages at a time, as a Lambda event source would. */

import { setTimeout as wait } from "node:timers/promises";
import { backoffMs } from "../async/waiting.ts";
import type { Log } from "../log.ts";
import { readQueuedIds } from "../queued-ids.ts";
import { errorKind } from "../telemetry/error-kind.ts";
import type { QueueConsumer, ReceivedMessage } from "./ports.ts";

/** SQS's limits of one receive: messages and waiting time. */
const maxPerReceive = 10;
const waitMs = 20_000;
/** The time that handlers have after their signal aborted, to save their progress. */
const settleMs = 2000;
/** The delay between receives that fail. */
const failureBackoff = { baseMs: 100, capMs: 10_000 };

type Handle = (message: ReceivedMessage, signal: AbortSignal) => Promise<void>;
type Sleep = (request: { ms: number; signal: AbortSignal }) => Promise<void>;

/**
 * Runs until `signal` aborts and never rejects. A message whose handler resolves is finished; one whose handler rejects
 * is left, and comes back after the visibility timeout. A handler's own signal aborts when its message may be given to
 * someone else, and when the loop has stopped and its grace time is over; two seconds later the loop returns in any case.
 */
export async function runQueueLoop({
  consumer,
  handle,
  concurrency,
  visibilityTimeoutMs,
  signal,
  log,
  graceMs = 10_000,
  sleep = async ({ ms, signal }) => wait(ms, undefined, { signal }).catch(() => {}),
  random = Math.random,
}: {
  consumer: QueueConsumer;
  handle: Handle;
  concurrency: number;
  visibilityTimeoutMs: number;
  signal: AbortSignal;
  log: Log;
  graceMs?: number;
  /** Resolves after `ms`, or when the signal aborts. */
  sleep?: Sleep;
  random?: () => number;
}): Promise<void> {
  const running = new Set<Promise<void>>();
  const overdue = new AbortController();
  const handleOne = createHandleOne({ consumer, handle, visibilityTimeoutMs, overdue: overdue.signal, log });
  const { promise: aborted, resolve: onAbort } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => onAbort(), { once: true });
  let failures = 0;

  while (!signal.aborted) {
    const free = concurrency - running.size;
    if (free <= 0) {
      await Promise.race([...running, aborted]);
      continue;
    }
    const max = Math.min(free, maxPerReceive);
    try {
      const messages = await consumer.receive({ max, visibilityTimeoutMs, waitMs, signal });
      failures = 0;
      for (const message of messages) {
        const done = handleOne(message).finally(() => running.delete(done));
        running.add(done);
      }
    } catch (error) {
      if (signal.aborted) break;
      const delayMs = failureBackoff.baseMs + backoffMs({ ...failureBackoff, attempt: failures, random });
      failures += 1;
      log.error("queue_receive_failed", { cause_kind: errorKind(error), attempt: failures, delay_ms: delayMs });
      await sleep({ ms: delayMs, signal });
    }
  }
  await waitUntilSettled({ running, graceMs, sleep });
  overdue.abort();
  await waitUntilSettled({ running, graceMs: settleMs, sleep });
}

/** Resolves when all are done, or after `graceMs`. */
async function waitUntilSettled({
  running,
  graceMs,
  sleep,
}: {
  running: ReadonlySet<Promise<void>>;
  graceMs: number;
  sleep: Sleep;
}): Promise<void> {
  const done = new AbortController();
  await Promise.race([Promise.all(running).then(() => done.abort()), sleep({ ms: graceMs, signal: done.signal })]);
}

/** Never rejects, whatever the handler or the queue does. */
function createHandleOne({
  consumer,
  handle,
  visibilityTimeoutMs,
  overdue,
  log,
}: {
  consumer: QueueConsumer;
  handle: Handle;
  visibilityTimeoutMs: number;
  overdue: AbortSignal;
  log: Log;
}): (message: ReceivedMessage) => Promise<void> {
  return async (message) => {
    const attempt = message.receiveCount;
    const limit = new AbortController();
    const timer = setTimeout(abort, visibilityTimeoutMs);
    function abort() {
      clearTimeout(timer);
      limit.abort();
    }
    overdue.addEventListener("abort", abort);
    try {
      await handle(message, limit.signal);
    } catch (error) {
      log.warn("queue_message_failed", { ...readQueuedIds(message.body), cause_kind: errorKind(error), attempt });
      return;
    } finally {
      clearTimeout(timer);
      overdue.removeEventListener("abort", abort);
    }
    try {
      const isFinished = await consumer.finish({ receipt: message.receipt });
      if (!isFinished) log.warn("queue_receipt_void", { ...readQueuedIds(message.body), attempt });
    } catch (error) {
      log.error("queue_finish_failed", { ...readQueuedIds(message.body), cause_kind: errorKind(error), attempt });
    }
  };
}
