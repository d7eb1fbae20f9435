/** What a dead letter is about: ids, kind and times; its text is nobody's business here. */
import { type QueueMessage, queueMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import type { DeadLetter } from "./archive.ts";

export type ReadLetter = DeadLetter & { message: QueueMessage | undefined };

/** `message` is undefined where the body is none of ours. */
export function readLetter(letter: DeadLetter): ReadLetter {
  try {
    return { ...letter, message: queueMessageSchema.parse(JSON.parse(letter.body)) };
  } catch {
    return { ...letter, message: undefined };
  }
}

/** The tenant in whose turn it is moved. */
export function groupOf({ group, message }: ReadLetter): string | undefined {
  return group ?? (message?.type === "ask" ? message.message.team : undefined);
}
