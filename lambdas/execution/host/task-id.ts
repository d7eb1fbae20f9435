/** Which task a request means: its id follows from principal and request id, so that a repetition finds it in one read. */
import { hash } from "node:crypto";
import type { RequestId } from "../../../contracts/envelope.ts";
import { dedupedIdSchema, type ExecuteTaskParams } from "../../../contracts/methods.ts";

/** The task's id for a request id that is a UUID (in any letter case), undefined for all others: those are not deduplicated. */
export function taskIdOf({ principal, requestId }: { principal: string; requestId: RequestId }): string | undefined {
  if (!dedupedIdSchema.safeParse(requestId).success) return undefined;
  return derivedId([principal, String(requestId).toLowerCase()]);
}

/** The task that an A2A message begins. Every message id counts: A2A asks its clients for unique ones (section 4.1.4). */
export function taskIdOfMessage({ principal, messageId }: { principal: string; messageId: string }): string {
  return derivedId(["a2a", principal, messageId]);
}

/** The same for two requests that ask for the same. What changes by itself (signed URLs, history, time left) is not in it. */
export function fingerprintOf({ channel, text, thread_ts, user_id, attachments = [] }: ExecuteTaskParams): string {
  return digest([channel, text, thread_ts ?? null, user_id ?? null, attachments.map(({ id }) => id)]);
}

/** Of any JSON; members that are undefined do not count. */
export function digest(content: readonly unknown[]): string {
  return hash("sha256", JSON.stringify(content));
}

/** A UUID of version 8 (RFC 9562, section 5.8) from the SHA-256 of a JSON array. */
export function derivedId(names: readonly string[]): string {
  const hex = digest(names);
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
