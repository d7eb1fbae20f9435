/** Leaves a queue message to a newer version, if only that can handle it. During an upgrade both versions work on one queue. */
import type { TaskQueue } from "./ports.ts";

const firstDelayMs = 5000;
const maxDelayMs = 5 * 60_000;
/** After that the newer version will not come back, and the message may become a dead letter. */
const maxAgeMs = 7 * 24 * 3600_000;

/**
 * Sends a copy of the message, which a worker of the newer version may receive. A copy has a receive count of its own, so the message does
 * not become a dead letter meanwhile. The delay is a tenth of the time that the message has waited, so that a person does not notice it. Resolves to false if that is too long,
 * and rejects if the queue is unavailable.
 */
export async function leaveToNewerVersion(request: {
  queue: TaskQueue;
  /** A JSON object. */
  body: string;
  group?: string | undefined;
  /** Sooner the copy would be of no use. */
  notBeforeMs?: number | undefined;
  nowMs: number;
}): Promise<boolean> {
  const { queue, body, group, notBeforeMs = 0, nowMs } = request;
  const message = JSON.parse(body) as { leftSinceMs?: unknown };
  const leftSinceMs = typeof message.leftSinceMs === "number" ? message.leftSinceMs : nowMs;
  const waitedMs = nowMs - leftSinceMs;
  if (waitedMs > maxAgeMs) return false;
  const againAfterMs = Math.min(Math.max(waitedMs / 10, firstDelayMs), maxDelayMs);
  const delayMs = Math.round(Math.max(againAfterMs, notBeforeMs - nowMs));
  await queue.send({
    body: JSON.stringify({ ...message, leftSinceMs }),
    delayMs,
    ...(group !== undefined && { group }),
  });
  return true;
}
