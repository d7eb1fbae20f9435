/** New ids of processes that may be restored from a snapshot. */
import { randomUUID } from "node:crypto";

/**
 * Returns a new random UUID. It leaves out Node's cache of random bytes, which a snapshot of the process would copy into every process that
 * is restored from it (AgentCore's platform version V2), so that they would all make the same ids. This takes 2 µs more per id.
 */
export function createId(): string {
  return randomUUID({ disableEntropyCache: true });
}
