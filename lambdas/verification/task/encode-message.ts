/** The text of a queue message. A file of its own, because the ingress needs no more of `messages.ts` than this. */
import type { QueueMessage } from "./messages.ts";

export function encodeQueueMessage(message: QueueMessage): string {
  return JSON.stringify(message);
}
