/** The request id of an operator's retry: derived, so that asking for the same retry twice is asking for one task. */
import { uuidV5 } from "./request-id.ts";

/** `originalId` is the id of the post's own task, never that of a retry; `count` is 1 for its first retry. */
export function retryIdOf({ originalId, count }: { originalId: string; count: number }): string {
  return uuidV5({ namespace: originalId, name: `retry ${count}` });
}
