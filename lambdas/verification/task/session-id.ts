/** The session id: what keeps a conversation on one warm runtime. */
import { createHash } from "node:crypto";
import { placeOf, type Task } from "./task.ts";

/**
 * Derived from app, channel and thread (in a direct message: the channel), 66 characters of `sessionIdSchema`.
 * With `perTask` the request id joins in, so that stopping the session can hit nothing else.
 */
export function sessionIdOf({
  message,
  place,
  perTask,
}: Pick<Task, "message" | "place"> & { perTask: string | undefined }): string {
  const { channel, threadTs } = placeOf({ message, place });
  const conversation = message.direct ? channel : [channel, threadTs];
  const key = JSON.stringify([message.appId, conversation, perTask ?? null]);
  return `s-${createHash("sha256").update(key).digest("hex")}`;
}
