/** The Verification zone's record of one task: everything that is known of it, in one item of the task store. */
import * as z from "zod";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { reasonSchema } from "../../../contracts/errors.ts";
import { executeTaskParamsSchema } from "../../../contracts/methods.ts";
import { type Ask, askSchema } from "./messages.ts";

const recordLifeMs = 30 * 24 * 3600_000;

/** What the user will read: the agent's words, or which words of ours. */
const outcomeSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("answer"), text: z.string() }),
  z.object({
    type: z.literal("failed"),
    reason: z.union([reasonSchema, z.literal("ambiguous")]),
    /** The Execution zone lost the task on the way. */
    lost: z.boolean(),
  }),
  z.object({ type: z.literal("refused") }),
  z.object({ type: z.literal("too_old") }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;

export const taskSchema = z.object({
  /** The request id. */
  id: z.string().regex(uuidPattern),
  revision: z.int(),
  state: z.enum(["received", "announced", "sent", "waiting", "delivering", "done"]),
  thread: z.string(),
  principal: z.string(),
  expiresAtMs: z.int(),
  /** Wake-ups below this are of a link of the chain that has been finished. */
  wakeSeq: z.int(),
  /** Held while a worker acts on the task; one that has lapsed says that a worker died in the act. */
  lease: z.object({ owner: z.string(), untilMs: z.int() }).optional(),
  /** Failed acts in a row in this state; grows the delay before the next one. */
  attempts: z.int(),

  receivedAtMs: z.int(),
  trace: askSchema.shape.trace,
  message: askSchema.shape.message,

  /** Chosen once, before the first byte is sent; with them `params`, re-sent unchanged. */
  destination: z.string().optional(),
  sessionId: z.string().optional(),
  params: executeTaskParamsSchema.optional(),
  deadlineAtMs: z.int().optional(),

  placeholderTs: z.string().optional(),
  announcedAtMs: z.int().optional(),
  /** Whether an earlier send may have arrived although no answer to it came. */
  mayHaveArrived: z.boolean(),
  /** The Execution zone's id of the accepted task. */
  taskId: z.string().optional(),
  polls: z.int(),
  /** The deadline has passed: the task is being canceled, and only a result that is there already still counts. */
  expired: z.boolean(),

  outcome: outcomeSchema.optional(),
  /** The sweep after the delivery has looked once more. */
  swept: z.boolean(),
});
export type Task = z.infer<typeof taskSchema>;

/** The record as it is when the conditional create claims the message. */
export function receivedTask(ask: Ask): Task {
  const { message } = ask;
  return {
    id: ask.requestId,
    revision: 1,
    state: "received",
    thread: `${message.channel}/${threadOf(message)}`,
    principal: `${message.team}/${message.user}`,
    expiresAtMs: ask.receivedAtMs + recordLifeMs,
    wakeSeq: 0,
    attempts: 0,
    receivedAtMs: ask.receivedAtMs,
    trace: ask.trace,
    message,
    mayHaveArrived: false,
    polls: 0,
    expired: false,
    swept: false,
  };
}

/** The thread that the answer goes to: the message's own, or the one that starts with it. */
export function threadOf(message: { ts: string; threadTs?: string | undefined }): string {
  return message.threadTs ?? message.ts;
}
