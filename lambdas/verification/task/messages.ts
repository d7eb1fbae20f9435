/** What the verification queue carries: a message asked for by the ingress, a wake-up of a task that exists, or a wish about one. */
import * as z from "zod";
import { uuidPattern } from "../../../contracts/envelope.ts";

const requestId = z.string().regex(uuidPattern);

/** One Slack message for the bot, as the ingress understood it. `text` has the bot's own mention removed. */
export const askedMessageSchema = z.object({
  appId: z.string(),
  /** The installation's workspace: `context_team_id`, or `team_id` where Slack sends none. */
  team: z.string(),
  channel: z.string(),
  user: z.string(),
  ts: z.string(),
  threadTs: z.string().optional(),
  /** A direct message: the whole channel is one conversation. */
  direct: z.boolean(),
  text: z.string(),
  /** The bot's own users, whose mentions were taken out of the text. */
  botUsers: z.array(z.string()).optional(),
  /** It does not speak to the bot: only where it means one of the bot's tasks it is answered. */
  unaddressed: z.literal(true).optional(),
});
export type AskedMessage = z.infer<typeof askedMessageSchema>;

export const askSchema = z.object({
  type: z.literal("ask"),
  requestId,
  receivedAtMs: z.int(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  message: askedMessageSchema,
  /** An operator's retry of the task with this request id: the text is read anew from Slack. */
  retryOf: requestId.optional(),
  /** It was a dead letter before: a copy has been kept for an operator, and this one goes on by itself. */
  buried: z.boolean().optional(),
});
export type Ask = z.infer<typeof askSchema>;

/** `seq` says which link of the task's chain of wake-ups this is; below the record's `wakeSeq` it is dropped. */
const wakeSchema = z.object({
  type: z.literal("wake"),
  requestId,
  seq: z.int().min(1),
  /** How often it came while the record was not saved yet. */
  early: z.int().optional(),
});

/** An operator's wish that a task goes on from where it stands, whatever its wake-ups came to. */
const redriveSchema = z.object({ type: z.literal("redrive"), requestId });

/** Somebody's wish that a task ends. `early`: how often it came without having come to anything. */
const cancelSchema = z.object({ type: z.literal("cancel"), requestId, early: z.int().optional() });

/** The task before this one in its thread is over. */
const turnSchema = z.object({ type: z.literal("turn"), requestId });

export const queueMessageSchema = z.discriminatedUnion("type", [
  askSchema,
  wakeSchema,
  redriveSchema,
  cancelSchema,
  turnSchema,
]);
export type QueueMessage = z.infer<typeof queueMessageSchema>;

/** Which link of the task's chain of wake-ups a message is. What is none of the chain takes the place of the next one. */
export function seqOf({ message, task }: { message: QueueMessage; task: { wakeSeq: number } }): number {
  if (message.type === "wake") return message.seq;
  return message.type === "ask" ? 0 : task.wakeSeq;
}
