/** The record of one task in the Execution zone's store: all that any instance needs to start it, answer for it or give it up. */
import * as z from "zod";
import { messageSchema, partSchema } from "../../../contracts/a2a/part.ts";
import { pushConfigSchema } from "../../../contracts/a2a/push.ts";
import { requestIdSchema } from "../../../contracts/envelope.ts";
import {
  artifactSchema,
  executeTaskParamsSchema,
  progressSchema,
  questionOptionSchema,
} from "../../../contracts/methods.ts";
import { taskStateSchema } from "../../../contracts/task.ts";

/** The Slack token of the params is handed to the agent and kept nowhere. */
const { bot_token: _secret, channel, ...storedParams } = executeTaskParamsSchema.shape;

/** What the agent is asked to do. Without a channel it came over A2A; `parts` are there only where they say more than the rest. */
const taskInputSchema = z.object({
  ...storedParams,
  channel: channel.optional(),
  parts: z.array(partSchema).optional(),
});
export type TaskInput = z.infer<typeof taskInputSchema>;

const questionSchema = z.object({
  prompt: z.string(),
  options: z.array(questionOptionSchema).optional(),
  kind: z.literal("auth").optional(),
  /** The question's own id, which is that of the message that asks for those who speak A2A. */
  messageId: z.string(),
  /** When it ends, where nobody answers it. */
  expiresAtMs: z.number().optional(),
});
export type Question = z.infer<typeof questionSchema>;

/** `id` is of the request or message that brought it, `questionId` of the question that it answers, `fingerprint` is of what it says. */
const answerSchema = z.object({
  id: z.string(),
  questionId: z.string().optional(),
  fingerprint: z.string(),
  prompt: z.string(),
  text: z.string(),
  option_id: z.string().optional(),
  user_id: z.string().optional(),
  parts: z.array(partSchema).optional(),
});
export type Answer = z.infer<typeof answerSchema>;

/** Where news of a task goes, in the shape of the version that it was registered in. Its token and credentials are secrets. */
const storedPushConfigSchema = pushConfigSchema.omit({ tenant: true, taskId: true }).extend({
  id: z.string(),
  version: z.enum(["1.0", "0.3"]),
  /** Of this very registration: one that replaces it has another. */
  registrationId: z.string().optional(),
});
export type StoredPushConfig = z.infer<typeof storedPushConfigSchema>;

/** A state that the task has left: when it was entered, and which message asked in it. */
const passedStateSchema = z.object({
  state: taskStateSchema,
  atMs: z.number(),
  messageId: z.string().optional(),
  kind: z.literal("auth").optional(),
});
export type PassedState = z.infer<typeof passedStateSchema>;

/** What a task has of its own because its caller speaks A2A. */
const a2aSchema = z.object({
  contextId: z.string(),
  /** What was said in the task, oldest first; older messages go where there are too many. */
  messages: z.array(messageSchema),
  pushConfigs: z.array(storedPushConfigSchema).optional(),
  /** The latest states that it has left, oldest first. */
  passed: z.array(passedStateSchema).optional(),
});

const failureReasonSchema = z.enum([
  "execution_failed",
  "plan_error",
  "budget_exceeded",
  "timeout",
  "payload_too_large",
]);

/** How a task ended by itself. `lost`: its host went away, and nobody knows how far the agent came. */
const outcomeSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("success"),
    text: z.string(),
    usage: z.looseObject({}).optional(),
    /** An answer that needs no task: whoever still waits for it over A2A gets a message. */
    direct: z.literal(true).optional(),
  }),
  z.object({ type: z.literal("failure"), reason: failureReasonSchema, lost: z.literal(true).optional() }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;

/** Times in milliseconds since the epoch. */
const executionTaskSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: taskStateSchema,
  principal: z.string(),
  expiresAtMs: z.number(),
  /** Of the request or the A2A message that began it; the latter may be longer. */
  requestId: requestIdSchema.or(messageSchema.shape.messageId),
  correlationId: z.string(),
  /** Of the content that a repeated request must share. */
  fingerprint: z.string(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  createdAtMs: z.number(),
  /** When the state was last entered. */
  changedAtMs: z.number(),
  /** The same, where the task is one that its caller may list. */
  listedAtMs: z.number().optional(),
  /** When a read last sent its id to the queue of tasks; absent where only its own request did, and without a queue. */
  queuedAtMs: z.number().optional(),
  /** When its own time is over. While it asks that stands still: the answer moves this moment by the time it took. */
  deadlineAtMs: z.number(),
  /** Whether its end is to be pushed. */
  callback: z.literal(true).optional(),
  /** Gone when the task is over, like the text in them. */
  params: taskInputSchema.optional(),
  /** Who runs the agent, and until when nobody may doubt it. */
  lease: z.object({ owner: z.string(), untilMs: z.number() }).optional(),
  progress: progressSchema.optional(),
  /** What the agent made so far. */
  artifacts: z.array(artifactSchema).optional(),
  /** Present in the state input_required. */
  question: questionSchema.optional(),
  /** To the questions so far; when the task is over, their ids and fingerprints stay and their texts go. */
  answers: z.array(answerSchema).optional(),
  /** Present in the states completed, failed and rejected. */
  outcome: outcomeSchema.optional(),
  a2a: a2aSchema.optional(),
});
export type ExecutionTask = z.infer<typeof executionTaskSchema>;

/** Throws where the stored JSON is none of ours. */
export function parseExecutionTask(json: unknown): ExecutionTask {
  return executionTaskSchema.parse(upToDate(json));
}

/** A record from before agents could ask did not say when its state was entered, and kept what the agent made in its outcome. */
function upToDate(json: unknown): unknown {
  if (typeof json !== "object" || json === null || "changedAtMs" in json) return json;
  const { createdAtMs, outcome } = json as { createdAtMs?: unknown; outcome?: { artifacts?: unknown } };
  return { changedAtMs: createdAtMs, artifacts: outcome?.artifacts, ...json };
}
