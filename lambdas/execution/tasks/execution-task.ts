/** The record of one task in the Execution zone's store, with the ids, messages and defaults that are derived from it. */

import { hash } from "node:crypto";
import * as z from "zod";
import { type Message, messageSchema, partSchema } from "../../../contracts/a2a/part.ts";
import { pushConfigSchema } from "../../../contracts/a2a/push.ts";
import { type RequestId, requestIdSchema, uuidPattern } from "../../../contracts/envelope.ts";
import {
  artifactSchema,
  dedupedIdSchema,
  type ExecuteTaskParams,
  executeTaskParamsSchema,
  progressSchema,
  questionOptionSchema,
  taskStateSchema,
} from "../../../contracts/methods.ts";
import type { LogFields } from "../../shared/log.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";

/** The Slack token of the params is handed to the agent and kept nowhere. */
const { bot_token: _secret, channel, ...storedParams } = executeTaskParamsSchema.shape;

/** The agent's input. Absent `channel`: the task came over A2A. `parts` is present only where it says more than the other fields. */
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
  /** The question's id, which is also the id of the A2A message that asks it. */
  messageId: z.string(),
  /** When the question ends unanswered. */
  expiresAtMs: z.number().optional(),
});
export type OpenQuestion = z.infer<typeof questionSchema>;

/** `id` is the id of the request or message with the answer; `questionId` names its question; `fingerprint` is of its content. */
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
export type PersonAnswer = z.infer<typeof answerSchema>;

/** Where news of a task goes, in the shape of the version that it was registered in. Its token and credentials are secrets. */
const storedPushConfigSchema = pushConfigSchema.omit({ tenant: true, taskId: true }).extend({
  id: z.string(),
  version: z.enum(["1.0", "0.3"]),
  /** The id of this registration: a replacement has another one. */
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

/** The fields of a task that came over A2A. */
const a2aSchema = z.object({
  contextId: z.string(),
  /** The messages of the task, oldest first. The oldest are dropped where there are too many. */
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
    /** An answer that needs no task: a caller that still waits over A2A gets a message instead. */
    direct: z.literal(true).optional(),
  }),
  z.object({ type: z.literal("failure"), reason: failureReasonSchema, lost: z.literal(true).optional() }),
]);
export type ExecutionOutcome = z.infer<typeof outcomeSchema>;

/** Times in milliseconds since the epoch. */
const executionTaskSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: taskStateSchema,
  principal: z.string(),
  expiresAtMs: z.number(),
  /** The id of the request or the A2A message that began the task; the latter may be longer. */
  requestId: requestIdSchema.or(messageSchema.shape.messageId),
  correlationId: z.string(),
  /** The fingerprint of the content that a repeated request must share. */
  fingerprint: z.string(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  createdAtMs: z.number(),
  /** When the state was last entered. */
  changedAtMs: z.number(),
  /** The same time, where the caller may list the task. */
  listedAtMs: z.number().optional(),
  /** When a read last sent its id to the queue of tasks; absent where only its own request did, and without a queue. */
  queuedAtMs: z.number().optional(),
  /** When the task's time is over. An answer to its question moves it by the time that the question was open. */
  deadlineAtMs: z.number(),
  /** Whether its end is to be pushed. */
  callback: z.literal(true).optional(),
  /** Removed when the task is over, with the texts in them. */
  params: taskInputSchema.optional(),
  /** The run that works on the task, and until when it counts as alive. */
  lease: z.object({ owner: z.string(), untilMs: z.number() }).optional(),
  progress: progressSchema.optional(),
  /** The agent's artifacts so far. */
  artifacts: z.array(artifactSchema).optional(),
  /** Present in the state input_required. */
  question: questionSchema.optional(),
  /** The answers to the questions so far. When the task is over, ids and fingerprints stay and texts are removed. */
  answers: z.array(answerSchema).optional(),
  /** Present in the states completed, failed and rejected. */
  outcome: outcomeSchema.optional(),
  a2a: a2aSchema.optional(),
});
export type ExecutionTask = z.infer<typeof executionTaskSchema>;

/** Throws where the stored JSON is not a task. */
export function parseExecutionTask(json: unknown): ExecutionTask {
  return executionTaskSchema.parse(json);
}

/** The task's id for a request id that is a UUID (in any letter case), undefined for all others: those are not deduplicated. */
export function deriveTaskId({
  principal,
  requestId,
}: {
  principal: string;
  requestId: RequestId;
}): string | undefined {
  if (!dedupedIdSchema.safeParse(requestId).success) return undefined;
  return deriveId([principal, String(requestId).toLowerCase()]);
}

/** The task that an A2A message begins. Every message id counts: A2A asks its clients for unique ones (section 4.1.4). */
export function deriveMessageTaskId({ principal, messageId }: { principal: string; messageId: string }): string {
  return deriveId(["a2a", principal, messageId]);
}

/** The same for two requests that ask for the same. What changes by itself (signed URLs, history, time left) is not in it. */
export function createFingerprint({ channel, text, thread_ts, user_id, attachments = [] }: ExecuteTaskParams): string {
  return digest([channel, text, thread_ts ?? null, user_id ?? null, attachments.map(({ id }) => id)]);
}

/** A digest of JSON; undefined members do not count. */
export function digest(content: readonly unknown[]): string {
  return hash("sha256", JSON.stringify(content));
}

/** A UUID of version 8 (RFC 9562, section 5.8) from the SHA-256 of a JSON array. */
export function deriveId(names: readonly string[]): string {
  const hex = digest(names);
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * How an agent knows its caller: a stable id, the same for every task of one principal, that does not name it. It is a digest without a
 * key, because the zone has no secret in most places where it runs. So whoever sees an id and guesses the principal can confirm the guess.
 * The id gives no access: the host takes none from a caller.
 */
export function deriveCallerId(principal: string): string {
  return deriveId(["caller", principal]);
}

/**
 * `conversation` is what the caller named it, on the wire. The principal is part of the id, so that no caller can reach what
 * an agent remembers of another caller's conversation.
 */
export function deriveConversationId({ principal, conversation }: { principal: string; conversation: string }): string {
  return deriveId(["conversation", principal, conversation]);
}

/** The most bytes of messages in a record, beside the task's input and artifacts. */
const maxMessagesBytes = 32 * 1024;

/** Adds messages and keeps the newest that fit; one that is too large by itself loses its content. Only A2A tasks have messages. */
export function addMessages({ task, messages }: { task: ExecutionTask; messages: readonly Message[] }): ExecutionTask {
  if (task.a2a === undefined || messages.length === 0) return task;
  const kept: Message[] = [];
  let bytes = 0;
  for (const said of [...task.a2a.messages, ...messages].reverse()) {
    const ownBytes = jsonBytes(said);
    const message = ownBytes > maxMessagesBytes ? removeContent(said) : said;
    bytes += message === said ? ownBytes : jsonBytes(message);
    if (bytes > maxMessagesBytes) break;
    kept.unshift(message);
  }
  return { ...task, a2a: { ...task.a2a, messages: kept } };
}

/** The question that a task waits with, as the agent's message. */
export function createQuestionMessage({ id, a2a, question }: ExecutionTask): Message | undefined {
  if (question === undefined) return undefined;
  const { messageId, prompt } = question;
  return { messageId, taskId: id, contextId: a2a?.contextId, role: "ROLE_AGENT", parts: [{ text: prompt }] };
}

/** An answer that did not come over A2A, as the message that it would have been. */
export function createAnswerMessage({
  task: { id, a2a },
  answer,
}: {
  task: ExecutionTask;
  answer: PersonAnswer;
}): Message {
  const { id: messageId, text, option_id = "", parts = [{ text: text || option_id }] } = answer;
  return { messageId, taskId: id, contextId: a2a?.contextId, role: "ROLE_USER", parts };
}

/** The message without its parts. Clients recognize it by its ids. */
function removeContent({ messageId, taskId, contextId, role }: Message): Message {
  return { messageId, taskId, contextId, role, parts: [{ text: "" }] };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The log fields of a task, with the operation that began it. */
export function createLogIds({ id, requestId, trace, a2a }: ExecutionTask): LogFields {
  const operation = a2a === undefined ? "execute_task" : "SendMessage";
  return { task_id: id, request_id: toLoggableId(requestId), trace_id: readTraceId(trace), operation };
}

/** Undefined for an id that is not a UUID: a caller chooses it freely, so it stays out of the log. */
export function toLoggableId(id: unknown): string | undefined {
  return typeof id === "string" && uuidPattern.test(id.toLowerCase()) ? id : undefined;
}

/** The times of tasks and their runs, alike for every process that shares a store, unless the configuration says otherwise. */
export const runDefaults = {
  syncBudgetMs: 20_000,
  leaseMs: 20_000,
  lostAfterMs: 30_000,
  retentionMs: 24 * 3600_000,
  questionMs: 24 * 3600_000,
  progressMs: 1000,
  storeTimeoutMs: 5000,
  pollAfterMs: 1000,
  limits: { runsPerCaller: 1000, openCallsPerCaller: 1000 },
} as const;
