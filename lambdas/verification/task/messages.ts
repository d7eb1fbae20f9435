/**
 * The messages of the verification queue: a user message, a wake-up of a task, a request to cancel or redrive one, a button click, and
 * an opened conversation. And the ids that are derived from them: the same input gives the same id on every machine.
 */

import { createHash, createHmac } from "node:crypto";
import * as z from "zod";
import { uuidPattern } from "../../../contracts/envelope.ts";

/** Where the app is installed, and so whose bot token is used: one workspace, or a whole organization (Enterprise Grid). */
export type Installation = { team: string; enterprise?: string | undefined };

const requestId = z.string().regex(uuidPattern);

/** The fields of `Installation`, in every message that calls Slack. */
const installation = {
  /** The installation's workspace: `context_team_id`, or `team_id` where Slack sends none. */
  team: z.string(),
  /** Given where the app is installed in the whole organization. */
  enterprise: z.string().optional(),
};

/** A file of a message as Slack describes it; `url` needs the bot token. */
const userFileSchema = z.object({
  id: z.string(),
  name: z.string(),
  mimetype: z.string(),
  size: z.int().min(0),
  /** Absent where Slack does not store the file, or does not let the bot read it. */
  url: z.string().optional(),
});
export type UserFile = z.infer<typeof userFileSchema>;

/** One Slack message for the bot, as the ingress understood it. `text` has the bot's own mention removed. */
export const userMessageSchema = z.object({
  appId: z.string(),
  ...installation,
  channel: z.string(),
  user: z.string(),
  ts: z.string(),
  threadTs: z.string().optional(),
  /** A direct message: the whole channel is one conversation. */
  direct: z.boolean(),
  text: z.string(),
  /** The bot's own users, whose mentions were taken out of the text. */
  botUsers: z.array(z.string()).optional(),
  /** A reply that does not mention the bot. It is answered only in a thread in which the bot was asked before. */
  unaddressed: z.literal(true).optional(),
  /**
   * It mentions somebody in a channel of Slack Connect. That may be the bot's user in another workspace: then Slack sends the same
   * message as `app_mention` too, and that event counts.
   */
  perhapsAddressed: z.literal(true).optional(),
  files: z.array(userFileSchema).optional(),
  /** A slash command: `ts` is the time of its receipt, and the channel has no message of it. */
  command: z.literal(true).optional(),
});
export type UserMessage = z.infer<typeof userMessageSchema>;

export const askMessageSchema = z.object({
  type: z.literal("ask"),
  requestId,
  receivedAtMs: z.int(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  message: userMessageSchema,
  /** An operator's retry of the task with this request id: the text is read anew from Slack. */
  retryOf: requestId.optional(),
  /** It was a dead letter before: a copy is stored for an operator, and this one is tried again by itself. */
  buried: z.boolean().optional(),
  /** For a message that does not mention the bot: how often its thread was looked up, and the bot had not been asked there. */
  looks: z.int().optional(),
});
export type AskMessage = z.infer<typeof askMessageSchema>;

/** `seq` says which link of the task's chain of wake-ups this is; below the record's `wakeSeq` it is dropped. */
const wakeSchema = z.object({
  type: z.literal("wake"),
  requestId,
  seq: z.int().min(1),
  /** How often it arrived before the record was saved. A wake-up of a completion push starts higher (`worker/completion.ts`). */
  early: z.int().optional(),
});

/** An operator redrives a task: it goes on from its present state, even if its wake-ups are lost. */
const redriveSchema = z.object({ type: z.literal("redrive"), requestId });

/** Somebody asked to cancel a task. `early`: how often it arrived while a worker held the task's lease. */
const cancelSchema = z.object({ type: z.literal("cancel"), requestId, early: z.int().optional() });

/** The task before this one in its thread is over, so this one may begin. */
const threadFreeSchema = z.object({ type: z.literal("thread_free"), requestId });

/** A person clicked a button of one of the bot's messages. `question` and `option` count from 0. */
const buttonClickSchema = z.object({
  type: z.literal("press"),
  requestId,
  ...installation,
  channel: z.string(),
  threadTs: z.string().optional(),
  user: z.string(),
  atMs: z.int(),
  button: z.discriminatedUnion("type", [
    z.object({ type: z.literal("cancel") }),
    z.object({ type: z.literal("answer"), question: z.int().min(0), option: z.int().min(0) }),
  ]),
});
export type ButtonClick = z.infer<typeof buttonClickSchema>;

/** A person opened a conversation with the assistant. */
const conversationOpenedSchema = z.object({
  type: z.literal("greet"),
  requestId,
  ...installation,
  channel: z.string(),
  threadTs: z.string(),
  user: z.string(),
});
export type ConversationOpened = z.infer<typeof conversationOpenedSchema>;

export const queueMessageSchema = z.discriminatedUnion("type", [
  buttonClickSchema,
  conversationOpenedSchema,
  askMessageSchema,
  wakeSchema,
  redriveSchema,
  cancelSchema,
  threadFreeSchema,
]);
export type QueueMessage = z.infer<typeof queueMessageSchema>;

/** The messages that move the task that they name. */
export type TaskMessage = Exclude<QueueMessage, ButtonClick | ConversationOpened>;

/** The number of the message in the task's chain of wake-ups. A message that is not part of the chain counts as the next one. */
export function toWakeSeq({ message, task }: { message: TaskMessage; task: { wakeSeq: number } }): number {
  if (message.type === "wake") return message.seq;
  return message.type === "ask" ? 0 : task.wakeSeq;
}

/** Undefined for anything but a message of this version. */
export function parseQueueMessage(body: string): QueueMessage | undefined {
  try {
    return queueMessageSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}

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
export function greetingIdOf(thread: { appId: string; channel: string; threadTs: string }): string {
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
  place,
  perTask,
  zoneSecret,
}: {
  message: Pick<UserMessage, "appId" | "channel" | "ts" | "threadTs" | "direct">;
  place?: { channel: string; threadTs: string } | undefined;
  perTask: string | undefined;
  zoneSecret: string | undefined;
}): string {
  // Without the secret anybody could compute the id.
  if (!zoneSecret) throw new Error("A session id needs the zone's secret.");
  const { channel, threadTs } = place ?? { channel: message.channel, threadTs: message.threadTs ?? message.ts };
  const conversation = message.direct ? channel : [channel, threadTs];
  const name = JSON.stringify(["session", message.appId, conversation, perTask ?? null]);
  return `s-${createHmac("sha256", zoneSecret).update(name).digest("hex")}`;
}
