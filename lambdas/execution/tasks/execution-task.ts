/** The record of one task in the Execution zone's store, with the ids, messages and defaults that are derived from it. */

import { hash } from "node:crypto";
import { createFieldsPart } from "@sekisho/contracts/a2a/fields-part.ts";
import { type Message, messageSchema, partSchema } from "@sekisho/contracts/a2a/part.ts";
import { pushConfigSchema } from "@sekisho/contracts/a2a/push.ts";
import {
  answerersSchema,
  approvalsSchema,
  approvedBySchema,
} from "@sekisho/contracts/answer-rules.ts";
import { type RequestId, requestIdSchema, uuidPattern } from "@sekisho/contracts/envelope.ts";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import {
  artifactSchema,
  type ExecuteTaskParams,
  executeTaskParamsSchema,
  isDedupedId,
  progressSchema,
  questionOptionSchema,
  taskStateSchema,
} from "@sekisho/contracts/methods.ts";
import { fieldValuesSchema, questionFieldsSchema } from "@sekisho/contracts/question-fields.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import type { LogFields } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import * as z from "zod";

/** The Slack token goes to the agent and is not stored. */
const { bot_token: _secret, ...storedParams } = executeTaskParamsSchema.shape;

/** The agent's input. `channel` is absent for an A2A task. `parts` is present only if it holds more than the other fields. */
const taskInputSchema = z.object({
  ...storedParams,
  parts: z.array(partSchema).optional(),
});
export type TaskInput = z.infer<typeof taskInputSchema>;

const questionSchema = z.object({
  prompt: z.string(),
  options: z.array(questionOptionSchema).optional(),
  fields: questionFieldsSchema.optional(),
  kind: z.literal("auth").optional(),
  /** Where the person who asked signs in. A credential, which goes with the question. */
  url: z.string().optional(),
  answerers: answerersSchema.optional(),
  approvals: approvalsSchema.optional(),
  /** The state that the agent keeps with the question, and gets back with its answer. */
  state: z.unknown().optional(),
  /** The question's id, which is also the id of the A2A message that asks it. */
  messageId: z.string(),
  /** When the question ends unanswered. */
  expiresAtMs: z.number().optional(),
});
export type OpenQuestion = z.infer<typeof questionSchema>;

/** Who asked or answered, as a verified token says. The token itself is not stored. */
const verifiedAskerSchema = z.object({
  subject: z.string(),
  issuer: z.string(),
  zone: z.string(),
  team: z.string().optional(),
  enterprise: z.string().optional(),
  user: z.string().optional(),
  channel: z.string().optional(),
  thread: z.string().optional(),
  email: z.string().optional(),
});

/** A person's reply. `id` is that of the request or A2A message that carried it. `fingerprint` identifies its content. */
const answerSchema = z.object({
  id: z.string(),
  questionId: z.string().optional(),
  fingerprint: z.string(),
  prompt: z.string(),
  text: z.string(),
  option_id: z.string().optional(),
  fields: fieldValuesSchema.optional(),
  user_id: z.string().optional(),
  asker: verifiedAskerSchema.optional(),
  approved_by: approvedBySchema.optional(),
  parts: z.array(partSchema).optional(),
  state: z.unknown().optional(),
});
export type PersonAnswer = z.infer<typeof answerSchema>;

/** The target of push notifications of a task, in the A2A version in which it was registered. Token and credentials are secrets. */
const storedPushConfigSchema = pushConfigSchema.omit({ tenant: true, taskId: true }).extend({
  id: z.string(),
  version: z.enum(["1.0", "0.3"]),
  /** The id of this registration: a replacement has another one. */
  registrationId: z.string().optional(),
});
export type StoredPushConfig = z.infer<typeof storedPushConfigSchema>;

/** A past state: when the task entered it, and the id of the question if there was one. */
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
  /** The messages of the task, oldest first. The oldest are dropped if there are too many. */
  messages: z.array(messageSchema),
  pushConfigs: z.array(storedPushConfigSchema).optional(),
  /** The latest past states, oldest first. */
  passed: z.array(passedStateSchema).optional(),
});

const failureReasonSchema = z.enum([
  "execution_failed",
  "plan_error",
  "budget_exceeded",
  "timeout",
  "payload_too_large",
]);

/** How a task ended. `lost` means that the host or its agent lost sight of the work, so nobody knows what was done. */
const outcomeSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("success"),
    text: z.string(),
    usage: z.looseObject({}).optional(),
    /** An A2A client that still waits gets a message instead of a task. */
    direct: z.literal(true).optional(),
  }),
  z.object({
    type: z.literal("failure"),
    reason: failureReasonSchema,
    lost: z.literal(true).optional(),
  }),
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
  /** Identifies the request's content. A repeated request must have the same. */
  fingerprint: z.string(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  createdAtMs: z.number(),
  /** When the task entered its state. */
  changedAtMs: z.number(),
  /** Equal to `changedAtMs` if the caller may list the task, otherwise absent. */
  listedAtMs: z.number().optional(),
  /** When a read last sent the task's id to the queue. Absent if only the first request did, or if there is no queue. */
  queuedAtMs: z.number().optional(),
  /** When the task times out. A reply moves the deadline by the time that the question was open. */
  deadlineAtMs: z.number(),
  /** The name of the agent that runs the task. Absent for the host's main agent. */
  agent: executeTaskParamsSchema.shape.agent,
  /** True if the caller asked for a completion push. */
  callback: z.literal(true).optional(),
  /** Removed when the task is over, because it holds texts. */
  params: taskInputSchema.optional(),
  /** Who asked for the task. Removed when the task is over. */
  asker: verifiedAskerSchema.optional(),
  /** The run that works on the task, and the time until which it counts as alive. */
  lease: z.object({ owner: z.string(), untilMs: z.number() }).optional(),
  progress: progressSchema.optional(),
  /** The agent's artifacts so far. */
  artifacts: z.array(artifactSchema).optional(),
  /** Present in the state `input_required`. */
  question: questionSchema.optional(),
  /** The answers to the questions so far. When the task is over, ids and fingerprints stay and texts are removed. */
  answers: z.array(answerSchema).optional(),
  /** Present in the states `completed`, `failed` and `rejected`. */
  outcome: outcomeSchema.optional(),
  /** The votes on the answer: the latest one of each person, the newest last. */
  votes: z
    .array(z.object({ voterId: z.string(), vote: z.enum(["up", "down"]), atMs: z.number() }))
    .optional(),
  a2a: a2aSchema.optional(),
});
export type ExecutionTask = z.infer<typeof executionTaskSchema>;

/** Throws if the stored JSON is not a task. */
export function parseExecutionTask(json: unknown): ExecutionTask {
  return checkRecord({ schema: executionTaskSchema, json });
}

/** The task without members that only a newer version knows. They may hold texts, so they go when the texts are removed. */
export function withoutUnknown(task: ExecutionTask): ExecutionTask {
  return executionTaskSchema.safeParse(task).data ?? task;
}

/** Derives the task id from a request id that is a UUID in any letter case. Returns undefined for others, which are not deduplicated. */
export function deriveTaskId(request: {
  principal: string;
  requestId: RequestId;
}): string | undefined {
  const { principal, requestId } = request;
  return isDedupedId(requestId) ? deriveId([principal, requestId.toLowerCase()]) : undefined;
}

/** Derives the task id from any A2A message id, because A2A requires unique ones (section 4.1.4). */
export function deriveMessageTaskId({
  principal,
  messageId,
}: {
  principal: string;
  messageId: string;
}): string {
  return deriveId(["a2a", principal, messageId]);
}

/** Identifies what a request asks for. Leaves out what differs between repetitions: signed URLs, history and remaining time. */
export function createFingerprint({
  channel,
  text,
  thread_ts,
  user_id,
  agent,
  attachments = [],
}: ExecuteTaskParams): string {
  return digest([
    channel,
    text,
    thread_ts ?? null,
    user_id ?? null,
    attachments.map(({ id }) => id),
    ...(agent === undefined ? [] : [agent]),
  ]);
}

/** Hashes the JSON of `content`. Undefined members do not count. */
export function digest(content: readonly unknown[]): string {
  return hash("sha256", JSON.stringify(content));
}

/** Makes a UUID of version 8 (RFC 9562, section 5.8) from the SHA-256 of the names. */
export function deriveId(names: readonly string[]): string {
  const hex = digest(names);
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * Derives the caller id that an agent sees: the same for every task of one principal, without its name. The digest has no key, because
 * the zone has no secret in most deployments. So someone who sees an id can confirm a guess of the principal. The id gives no access.
 */
export function deriveCallerId(principal: string): string {
  if (latestCaller?.principal !== principal)
    latestCaller = { principal, id: deriveId(["caller", principal]) };
  return latestCaller.id;
}

/** Kept because most tasks of a process come from one caller. */
let latestCaller: { principal: string; id: string } | undefined;

/**
 * Derives the id of a conversation that an agent sees. `conversation` is the caller's own id for it. The principal goes into the hash, so
 * that no caller reaches what an agent remembers of another caller's conversation.
 */
export function deriveConversationId({
  principal,
  conversation,
}: {
  principal: string;
  conversation: string;
}): string {
  return deriveId(["conversation", principal, conversation]);
}

/** The most bytes of messages in a record, in addition to the task's input and artifacts. */
const maxMessagesBytes = 32 * 1024;

/** Adds messages and keeps the newest that fit; one that is too large by itself loses its content. Only A2A tasks have messages. */
export function addMessages({
  task,
  messages,
}: {
  task: ExecutionTask;
  messages: readonly Message[];
}): ExecutionTask {
  if (task.a2a === undefined || messages.length === 0) return task;
  const allMessages = [...task.a2a.messages, ...messages];
  if (isJsonWithin({ value: allMessages, maxBytes: maxMessagesBytes }))
    return { ...task, a2a: { ...task.a2a, messages: allMessages } };
  const keptMessages: Message[] = [];
  let bytes = 0;
  for (const wholeMessage of allMessages.reverse()) {
    const ownBytes = jsonBytes(wholeMessage);
    const message = ownBytes > maxMessagesBytes ? removeContent(wholeMessage) : wholeMessage;
    bytes += message === wholeMessage ? ownBytes : jsonBytes(message);
    if (bytes > maxMessagesBytes) break;
    keptMessages.unshift(message);
  }
  return { ...task, a2a: { ...task.a2a, messages: keptMessages } };
}

/** The open question of a task as the agent's message, which stays in the task's history. So it has no link to sign in. */
export function createQuestionMessage({ id, a2a, question }: ExecutionTask): Message | undefined {
  if (question === undefined) return undefined;
  const { messageId, prompt, fields } = question;
  const parts = [{ text: prompt }, ...(fields === undefined ? [] : [createFieldsPart(fields)])];
  return { messageId, taskId: id, contextId: a2a?.contextId, role: "ROLE_AGENT", parts };
}

/** An answer that came over the zone contract, as an A2A message. */
export function createAnswerMessage(options: {
  task: ExecutionTask;
  answer: PersonAnswer;
}): Message {
  const { answer } = options;
  const { id, a2a } = options.task;
  const { id: messageId, text, option_id = "", fields } = answer;
  const answerText = text || option_id;
  const answerParts = [
    ...(answerText === "" && fields !== undefined ? [] : [{ text: answerText }]),
    ...(fields === undefined ? [] : [createFieldsPart(fields)]),
  ];
  const { parts = answerParts } = answer;
  return { messageId, taskId: id, contextId: a2a?.contextId, role: "ROLE_USER", parts };
}

/** The message without its parts. Clients recognize it by its ids. */
function removeContent({ messageId, taskId, contextId, role }: Message): Message {
  return { messageId, taskId, contextId, role, parts: [{ text: "" }] };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** True if the task's caller asked for completion pushes and recognizes the task by its request id. */
export function isPushed({ callback, requestId }: ExecutionTask): boolean {
  return callback === true && uuidPattern.test(String(requestId).toLowerCase());
}

/** The log fields of a task, with the operation that began it. */
export function createLogIds({ id, requestId, trace, a2a }: ExecutionTask): LogFields {
  const operation = a2a === undefined ? "execute_task" : "SendMessage";
  return {
    task_id: id,
    request_id: toLoggableId(requestId),
    trace_id: readTraceId(trace),
    operation,
  };
}

/** Undefined for an id that is not a UUID: a caller chooses it freely, so it stays out of the log. */
export function toLoggableId(id: unknown): string | undefined {
  return typeof id === "string" && uuidPattern.test(id.toLowerCase()) ? id : undefined;
}

/** The times of tasks and runs. Every process that shares a store needs the same values. */
export type RunTimes = {
  /** How long `execute_task` waits for the result. */
  syncBudgetMs: number;
  /** How long it waits for the rest of an answer that the agent has begun to write, if that is shorter. */
  writingBudgetMs: number;
  /** How long a run's claim on its task lasts. */
  leaseMs: number;
  /** The interval at which a run renews its lease. */
  renewMs: number;
  /** How long after its lease expired a running task counts as lost. */
  lostAfterMs: number;
  /** How long a task is kept after its end. */
  retentionMs: number;
  /** How long a question may wait for its answer, at most `retentionMs`. This time does not count as the task's own. */
  questionMs: number;
  /** The shortest time between two stored progress reports. */
  progressMs: number;
  storeTimeoutMs: number;
  /** The delay before the next poll that `accepted` recommends. */
  pollAfterMs: number;
  /** The same for a task whose changes are pushed to its caller, until the agent writes its answer. Default: `pollAfterMs`. */
  pushedPollAfterMs?: number;
};

export const runDefaults: RunTimes = {
  syncBudgetMs: 20_000,
  writingBudgetMs: Number.POSITIVE_INFINITY,
  leaseMs: 20_000,
  renewMs: 10_000,
  lostAfterMs: 30_000,
  retentionMs: 24 * 3600_000,
  questionMs: 24 * 3600_000,
  progressMs: 1000,
  storeTimeoutMs: 5000,
  pollAfterMs: 1000,
};
