/** Receives from a queue and handles a limited number of messages at a time, like a Lambda event source. */

import { setTimeout as wait } from "node:timers/promises";
import { backoffMs } from "../async/waiting.ts";
import { errorKind } from "../error-kind.ts";
import type { Log, LogFields } from "../log.ts";
import type { QueueConsumer, ReceivedMessage } from "./ports.ts";

/** SQS's limits of one receive: messages and waiting time. */
const maxPerReceive = 10;
const waitMs = 20_000;
/** The time for handlers to save their progress after their signal aborted. */
const settleMs = 2000;
/** The delay after failed receives. */
const failureBackoff = { baseMs: 100, capMs: 10_000 };

type Handle = (message: ReceivedMessage, signal: AbortSignal) => Promise<void>;
type Sleep = (request: { ms: number; signal: AbortSignal }) => Promise<void>;

/**
 * Runs until `signal` aborts and never rejects. Finishes a message when its handler resolves. If the handler rejects, the message comes
 * back after the visibility timeout. A handler's signal aborts after `handleTimeoutMs` (default: the visibility timeout), and when the grace
 * time after the stop is over. The loop returns two seconds after that at the latest. If `handleTimeoutMs` is longer than the visibility
 * timeout, a message that is still handled may be delivered again, and its handler must be able to tell.
 */
export async function runQueueLoop(options: {
  consumer: QueueConsumer;
  handle: Handle;
  concurrency: number;
  visibilityTimeoutMs: number;
  handleTimeoutMs?: number;
  signal: AbortSignal;
  /** Finds the ids of a message for its log lines. Must not throw. */
  idsOf: (body: string) => LogFields;
  log: Log;
  graceMs?: number;
  /** Resolves after `ms`, or when the signal aborts. */
  sleep?: Sleep;
  random?: () => number;
}): Promise<void> {
  const {
    consumer,
    handle,
    concurrency,
    visibilityTimeoutMs,
    signal,
    idsOf,
    log,
    graceMs = 10_000,
  } = options;
  const { handleTimeoutMs = visibilityTimeoutMs } = options;
  const { sleep = async ({ ms, signal }) => wait(ms, undefined, { signal }).catch(() => {}) } =
    options;
  const { random = Math.random } = options;
  const running = new Set<Promise<void>>();
  const overdue = new AbortController();
  const { promise: abortion, resolve: onAbort } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => onAbort(), { once: true });
  let failures = 0;

  /** Never rejects, whatever the handler or the queue does. */
  async function handleOne(message: ReceivedMessage): Promise<void> {
    const attempt = message.receiveCount;
    const limit = new AbortController();
    const timer = setTimeout(abort, handleTimeoutMs);
    function abort() {
      clearTimeout(timer);
      limit.abort();
    }
    overdue.signal.addEventListener("abort", abort);
    try {
      await handle(message, limit.signal);
    } catch (error) {
      log.warn("queue_message_failed", {
        ...idsOf(message.body),
        cause_kind: errorKind(error),
        attempt,
      });
      return;
    } finally {
      clearTimeout(timer);
      overdue.signal.removeEventListener("abort", abort);
    }
    try {
      const isFinished = await consumer.finish({ receipt: message.receipt });
      const isExpected = handleTimeoutMs > visibilityTimeoutMs && !limit.signal.aborted;
      if (!isFinished && !isExpected)
        log.warn("queue_receipt_void", { ...idsOf(message.body), attempt });
    } catch (error) {
      log.error("queue_finish_failed", {
        ...idsOf(message.body),
        cause_kind: errorKind(error),
        attempt,
      });
    }
  }

  /** Resolves when all handlers are done or after `ms`. */
  async function waitForHandlers(ms: number): Promise<void> {
    const runsEnd = new AbortController();
    await Promise.race([
      Promise.all(running).then(() => runsEnd.abort()),
      sleep({ ms, signal: runsEnd.signal }),
    ]);
  }

  while (!signal.aborted) {
    const free = concurrency - running.size;
    if (free <= 0) {
      await Promise.race([...running, abortion]);
      continue;
    }
    const max = Math.min(free, maxPerReceive);
    try {
      const messages = await consumer.receive({ max, visibilityTimeoutMs, waitMs, signal });
      failures = 0;
      for (const message of messages) {
        const handling = handleOne(message).finally(() => running.delete(handling));
        running.add(handling);
      }
    } catch (error) {
      if (signal.aborted) break;
      const delayMs =
        failureBackoff.baseMs + backoffMs({ ...failureBackoff, attempt: failures, random });
      failures += 1;
      log.error("queue_receive_failed", {
        cause_kind: errorKind(error),
        attempt: failures,
        delay_ms: delayMs,
      });
      await sleep({ ms: delayMs, signal });
    }
  }
  await waitForHandlers(graceMs);
  overdue.abort();
  await waitForHandlers(settleMs);
}
