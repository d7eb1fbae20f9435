/** The request id: a UUIDv5 (RFC 9562 section 5.5) of what names a Slack post, so that every delivery of the post gives the same id. */
import { createHash } from "node:crypto";

/** Sekisho's own namespace, drawn at random once. Another value would make every post look new: never change it. */
const namespace = "5e1be58b-d86d-4b02-a7c9-f1c9c9286957";

/**
 * `app_mention` and `message`, redeliveries and retries: the same app, channel and `ts` give the same id. Of a slash command
 * `ts` is the trigger's id, which never looks like a post's.
 */
export function requestIdOf({ appId, channel, ts }: { appId: string; channel: string; ts: string }): string {
  return uuidV5({ namespace, name: JSON.stringify([appId, channel, ts]) });
}

/** Of a conversation with the assistant that was opened: four parts, so that it is the id of no post. */
export function greetingIdOf(thread: { appId: string; channel: string; threadTs: string }): string {
  return uuidV5({ namespace, name: JSON.stringify(["assistant", thread.appId, thread.channel, thread.threadTs]) });
}

/** SHA-1 of the namespace's bytes and the name's UTF-8, its first 16 bytes, with version 5 and the RFC's variant set. */
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

// The request id of an operator's retry: derived, so that asking for the same retry twice is asking for one task.

/** `originalId` is the id of the post's own task, never that of a retry; `count` is 1 for its first retry. */
export function retryIdOf({ originalId, count }: { originalId: string; count: number }): string {
  return uuidV5({ namespace: originalId, name: `retry ${count}` });
}
