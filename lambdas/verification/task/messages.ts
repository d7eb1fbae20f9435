/** What the verification queue carries: a message asked for by the ingress, a wake-up of a task that exists, or a wish about one. */
import * as z from "zod";
import { uuidPattern } from "../../../contracts/envelope.ts";

/** Whose token is used: that of the workspace, or of the organization where the app is installed as a whole. */
export type Installation = { team: string; enterprise?: string | undefined };

const requestId = z.string().regex(uuidPattern);

/** Whose token is used: the app is installed in a workspace, or in an organization (Enterprise Grid) as a whole. */
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
  /** Absent where the file is not Slack's own, or is not to be had. */
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
  /** A reply that does not speak to the bot: answered where it is in a thread of the bot and for it. */
  unaddressed: z.literal(true).optional(),
  /**
   * It mentions somebody in a channel of Slack Connect. That may be the bot's own user in another workspace: then the same message
   * comes as a mention too, and counts as that.
   */
  perhapsAddressed: z.literal(true).optional(),
  files: z.array(userFileSchema).optional(),
  /** A slash command: `ts` is of its receipt, and there is no message of it in the channel. */
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
  /** It was a dead letter before: a copy has been kept for an operator, and this one goes on by itself. */
  buried: z.boolean().optional(),
  /** It does not mention the bot, and its thread was looked up so often without the bot being known there. */
  looks: z.int().optional(),
});
export type AskMessage = z.infer<typeof askMessageSchema>;

/** `seq` says which link of the task's chain of wake-ups this is; below the record's `wakeSeq` it is dropped. */
const wakeSchema = z.object({
  type: z.literal("wake"),
  requestId,
  seq: z.int().min(1),
  /** How often it came while the record was not saved yet. A link that a push made starts with more. */
  early: z.int().optional(),
});

/** An operator's wish that a task goes on from where it stands, whatever its wake-ups came to. */
const redriveSchema = z.object({ type: z.literal("redrive"), requestId });

/** Somebody's wish that a task ends. `early`: how often it came without having come to anything. */
const cancelSchema = z.object({ type: z.literal("cancel"), requestId, early: z.int().optional() });

/** The task before this one in its thread is over. */
const threadFreeSchema = z.object({ type: z.literal("thread_free"), requestId });

/** A button of one of our messages was pressed. `question` and `option` count from 0. */
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

/** A conversation with the assistant was opened; `requestId` only tells one from the other. */
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

/** Those that move the task that they name. */
export type TaskMessage = Exclude<QueueMessage, ButtonClick | ConversationOpened>;

/** Which link of the task's chain of wake-ups a message is. What is none of the chain takes the place of the next one. */
export function toWakeSeq({ message, task }: { message: TaskMessage; task: { wakeSeq: number } }): number {
  if (message.type === "wake") return message.seq;
  return message.type === "ask" ? 0 : task.wakeSeq;
}

/** Undefined for what is no message of ours, or one of another version. */
export function parseQueueMessage(body: string): QueueMessage | undefined {
  try {
    return queueMessageSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
