/** How many messages of each queue of a file are due and wait, and for how long. */
import type { QueueDepth } from "../ports.ts";
import type { Database } from "./database.ts";

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
