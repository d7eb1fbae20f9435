/** Which tasks are told in full: their lines are written whatever their level. Pure. */
import { createHash } from "node:crypto";

/**
 * By the request id alone, so that both zones and all their processes choose the same tasks; `ratio` is their share, from 0 to 1.
 * A task that a ratio chooses is chosen by every larger one.
 */
export function isDebugged({ requestId, ratio }: { requestId: string; ratio: number }): boolean {
  if (ratio <= 0) return false;
  // A UUID's letter case says nothing.
  const digest = createHash("sha256").update(requestId.toLowerCase()).digest();
  return digest.readUInt32BE(0) < ratio * 2 ** 32;
}
