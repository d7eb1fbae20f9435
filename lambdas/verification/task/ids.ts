/** Derived ids: of a request, of an operator's retry, of a session. The same input gives the same id on every machine. */
import { createHash, createHmac } from "node:crypto";
import type { Task } from "./task.ts";

/** Sekisho's own namespace, drawn at random once. Another value would make every post look new: never change it. */
const namespace = "5e1be58b-d86d-4b02-a7c9-f1c9c9286957";

/**
 * The request id is a UUIDv5 (RFC 9562 section 5.5) of what names a Slack post, so that every delivery of the post gives the same id.
 * `app_mention` and `message`, redeliveries and Slack's retries have the same app, channel and `ts`. For a slash command `ts` is the
 * trigger's id, which never looks like a post's.
 */
export function requestIdOf({ appId, channel, ts }: { appId: string; channel: string; ts: string }): string {
  return uuidV5({ namespace, name: JSON.stringify([appId, channel, ts]) });
}

/** The id of the message that a conversation with the assistant was opened. Its name has four parts, so that it equals no post's id. */
export function conversationOpenedIdOf(thread: { appId: string; channel: string; threadTs: string }): string {
  return uuidV5({ namespace, name: JSON.stringify(["assistant", thread.appId, thread.channel, thread.threadTs]) });
}

/** UUIDv5: the first 16 bytes of the SHA-1 of the namespace's bytes and the name's UTF-8, with version 5 and the RFC's variant set. */
export function uuidV5({ namespace, name }: { namespace: string; name: string }): string {
  const bytes = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * The request id of an operator's retry. It is derived, so that the same retry asked for twice is one task.
 * `originalId` is the id of the post's own task, never that of a retry; `count` is 1 for its first retry.
 */
export function retryIdOf({ originalId, count }: { originalId: string; count: number }): string {
  return uuidV5({ namespace: originalId, name: `retry ${count}` });
}

/**
 * The session id keeps a conversation on one warm runtime. It is derived from app, channel and thread (in a direct message: the
 * channel): 66 characters of `sessionIdSchema`. Keyed with the zone's secret, so that nobody who knows the thread can compute it.
 * With `perTask` (a request id) each task has a session of its own, so that stopping it affects no other task.
 */
export function sessionIdOf({
  message,
  threadRef,
  perTask,
  zoneSecret,
}: Pick<Task, "message" | "threadRef"> & { perTask: string | undefined; zoneSecret: string | undefined }): string {
  // Without the secret anybody could compute the id.
  if (!zoneSecret) throw new Error("A session id needs the zone's secret.");
  const { channel, threadTs } = threadRef ?? { channel: message.channel, threadTs: message.threadTs ?? message.ts };
  const conversation = message.direct ? channel : [channel, threadTs];
  const name = JSON.stringify(["session", message.appId, conversation, perTask ?? null]);
  return `s-${createHmac("sha256", zoneSecret).update(name).digest("hex")}`;
}
