/**
 * The methods of the contract between the zones, with their params and results, and the states of a task. Unknown params are dropped, and
 * unknown fields of a result are ignored. docs/reference/contract.md explains every field.
 */
import * as z from "zod";
import { answerersSchema, approvalsSchema, approvedBySchema } from "./answer-rules.ts";
import type { RequestId } from "./envelope.ts";
import { SekishoError } from "./errors.ts";
import { isJsonWithin } from "./json-size.ts";
import {
  maxHistoryBytes,
  maxHistoryItems,
  maxHistoryTextLength,
  maxNameLength,
  maxOpenItems,
  maxPartialTextLength,
  maxSteps,
  maxTaskIdLength,
  maxTextLength,
  maxTopicLength,
} from "./limits.ts";
import { isSecureUrl } from "./loopback.ts";
import { optionalContent, optionalField } from "./optional-field.ts";
import { fieldValuesSchema, questionFieldsSchema } from "./question-fields.ts";
import { signInUrlSchema } from "./sign-in.ts";

/** In bytes of UTF-8. */
export const maxRequestBytes = 256 * 1024;
/** The longest time for which a host holds a `get_task`. */
const maxWaitMs = 25_000;

const slackId = z.string().min(1).max(64);
const slackTs = z
  .string()
  .max(32)
  .regex(/^\d+\.\d+$/);
/** RFC 3339, with `Z` or an offset. */
const timestamp = z.iso.datetime({ offset: true });
const taskId = z.string().min(1).max(maxTaskIdLength);

/** Keeps a conversation on one warm runtime. */
export const sessionIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{32,99}$/);

const attachmentUrl = z
  .string()
  .max(4096)
  .refine((url) => isAttachmentUrl(url), "must be https (http only on loopback)");

/** A file of the message. `url` is short-lived and needs no Slack token; `size` is in bytes. */
export const attachmentSchema = z.object({
  id: z.string().min(1).max(128),
  name: z.string().max(255),
  mimetype: z.string().max(255),
  size: z.int().min(0),
  url: attachmentUrl,
  sha256: optionalField(z.string().regex(/^[0-9a-f]{64}$/)),
  expires_at: optionalField(timestamp),
});

/** One earlier message of the thread. */
export const historyItemSchema = z.object({
  role: z.enum(["user", "assistant"]),
  text: z.string().max(maxHistoryTextLength),
  user_id: optionalField(slackId),
  ts: optionalField(slackTs),
  name: optionalField(z.string().max(maxNameLength)).describe("The display name of the writer"),
  bot: optionalField(z.boolean()).describe("true: an app wrote it, not a person"),
});

/** Something that the person has open in Slack. A host ignores a type that it does not know. */
const openItemSchema = z.object({
  type: z
    .string()
    .min(1)
    .max(32)
    .describe("channel, canvas, list or message. Later versions may add others"),
  id: z
    .string()
    .min(1)
    .max(128)
    .describe("The id of the channel, canvas or list, or the timestamp of the message"),
  channel: optionalField(slackId).describe("The channel of the message"),
  name: optionalField(z.string().max(maxNameLength)).describe(
    "The name of the channel, canvas or list",
  ),
});

/** Where the person wrote, and what they had open. */
export const slackContextSchema = z.object({
  channel_name: optionalField(z.string().max(maxNameLength)).describe("Without a leading #"),
  channel_kind: optionalField(z.enum(["public", "private", "direct", "group"])).describe(
    "direct: a conversation with the bot alone. group: one of several people without a channel",
  ),
  channel_topic: optionalField(z.string().max(maxTopicLength)),
  open: optionalField(z.array(openItemSchema).max(maxOpenItems)).describe(
    "What the person had open when they wrote, most relevant first",
  ),
});
export type SlackContext = z.infer<typeof slackContextSchema>;

export const executeTaskParamsSchema = z
  .object({
    channel: optionalField(slackId).describe("Slack channel id"),
    text: z.string().max(maxTextLength).describe("May be empty if there are attachments"),
    thread_ts: optionalField(slackTs),
    team_id: optionalField(slackId),
    user_id: optionalField(slackId),
    correlation_id: optionalField(z.string().min(1).max(128)).describe("Default: the request id"),
    attachments: optionalField(z.array(attachmentSchema).max(20)),
    history: optionalField(
      z
        .array(historyItemSchema)
        .max(maxHistoryItems)
        .refine((value) => isJsonWithin({ value, maxBytes: maxHistoryBytes }), "more than 64 KiB"),
    ).describe("The latest earlier messages of the thread, oldest first; at most 64 KiB of JSON"),
    context: optionalField(slackContextSchema).describe(
      "Where the person wrote, and what they had open. A host may ignore it",
    ),
    session_id: optionalField(sessionIdSchema).describe(
      "Identifies the conversation, so that it stays on one warm runtime",
    ),
    timeout_ms: optionalField(z.int().min(1)).describe(
      "Time left for the task, in milliseconds from the receipt. It stops while the task waits for an answer",
    ),
    agent: optionalField(z.string().min(1).max(63)).describe(
      "Which of the host's agents runs the task, by its name. Default: the host's main agent",
    ),
    callback: optionalField(z.boolean()).describe(
      "Asks for a push when the task changes. Without it, the caller polls",
    ),
    bot_token: optionalField(z.string().max(1024)).describe(
      "The Slack bot token, for existing agents that need it. It is never stored or logged",
    ),
  })
  .refine((params) => params.text !== "" || (params.attachments?.length ?? 0) > 0, {
    path: ["text"],
    message: "empty text without attachments",
  })
  .meta({
    anyOf: [
      { properties: { text: { type: "string", minLength: 1 } } },
      { properties: { attachments: { type: "array", minItems: 1 } }, required: ["attachments"] },
    ],
  });
export type ExecuteTaskParams = z.infer<typeof executeTaskParamsSchema>;

/** The fields of `execute_task` that a destination can do without. */
export const omittableFieldSchema = z.enum([
  "channel",
  "thread_ts",
  "team_id",
  "user_id",
  "history",
  "context",
  "session_id",
  "timeout_ms",
]);
export type OmittableField = z.infer<typeof omittableFieldSchema>;

/** A file of the answer: text, bytes (`base64`) or any JSON inline, or the `url` of something larger. */
export const artifactSchema = z.looseObject({
  name: optionalField(z.string().max(255)),
  mimetype: optionalField(z.string().max(255)),
  text: optionalContent(z.string()),
  base64: optionalContent(z.base64()),
  data: z.unknown().optional(),
  url: optionalField(z.string().max(4096)),
});
export type Artifact = z.infer<typeof artifactSchema>;

export const successResultSchema = z.looseObject({
  status: z.literal("success"),
  response_text: z.string(),
  attachments: optionalField(z.array(z.looseObject({}))),
  artifacts: optionalField(z.array(artifactSchema)),
  usage: optionalField(z.looseObject({})),
  correlation_id: optionalField(z.string()),
});

/** One step of a running task. Its id stays the same while its status changes. */
export const stepSchema = z.object({
  id: z.string().min(1).max(64),
  title: z.string().min(1).max(200),
  status: z.enum(["pending", "in_progress", "completed", "failed"]),
});
export type TaskStep = z.infer<typeof stepSchema>;

/** `partial_text` is the beginning of the answer, while it is written. */
export const progressSchema = z.object({
  text: optionalField(z.string()),
  percent: optionalField(z.number().min(0).max(100)),
  partial_text: optionalField(z.string().max(maxPartialTextLength)).catch(undefined),
  steps: optionalField(z.array(stepSchema).max(maxSteps)).describe(
    "What the agent does, step by step, in this order",
  ),
});

export const acceptedResultSchema = z.looseObject({
  status: z.literal("accepted"),
  task_id: taskId,
  poll_after_ms: optionalField(z.int().min(0)),
  expires_at: optionalField(timestamp),
  progress: optionalField(progressSchema),
});

export const optionIdSchema = z.string().min(1).max(128);

/** Accepts any id and label, because a question whose options are unusable can still be answered with text. */
export const questionOptionSchema = z.object({
  id: z.string(),
  label: z.string(),
  style: optionalField(z.string()),
});

export type QuestionOption = z.infer<typeof questionOptionSchema>;

export const inputRequiredResultSchema = z.looseObject({
  status: z.literal("input_required"),
  task_id: taskId,
  prompt: z.string(),
  options: optionalField(z.array(questionOptionSchema)),
  fields: optionalField(questionFieldsSchema).describe(
    "What a person fills in. A client that does not know it shows the prompt and answers with text",
  ),
  kind: optionalField(z.literal("auth")).describe(
    "auth: the agent asks for credentials, which the user gives elsewhere",
  ),
  url: optionalField(signInUrlSchema).describe(
    "Where the person who asked signs in, if kind is auth. A credential: only that person gets it",
  ),
  answerers: optionalField(answerersSchema).describe(
    "Who may answer, within what the client allows. A client that cannot tell lets nobody answer",
  ),
  approvals: optionalField(approvalsSchema).describe(
    "How many different people must choose the same option. One alone chooses an option of style danger",
  ),
  question_id: optionalField(z.string().min(1).max(128)).describe(
    "Identifies the question within its task",
  ),
  expires_at: optionalField(timestamp),
});

/** The result of `execute_task`, `get_task` and `answer_task`. */
export const taskResultSchema = z.discriminatedUnion("status", [
  successResultSchema,
  acceptedResultSchema,
  inputRequiredResultSchema,
]);
export type TaskResult = z.infer<typeof taskResultSchema>;

/** Some existing agents report a failure as a result with the status `error`. The client accepts it. The host never sends it. */
export const legacyErrorResultSchema = z.looseObject({
  status: z.literal("error"),
  error_code: optionalField(z.union([z.string(), z.int()])).catch(undefined),
  error_message: optionalField(z.string()).catch(undefined),
});
export type LegacyErrorResult = z.infer<typeof legacyErrorResultSchema>;

const taskKey = {
  task_id: optionalField(taskId).describe("Send either this or request_id"),
  request_id: optionalField(z.string().min(1).max(128)).describe(
    "The id of the execute_task request",
  ),
};
type TaskKey = { task_id?: string | undefined; request_id?: string | undefined };
const namesOneTask = (params: TaskKey) =>
  (params.task_id === undefined) !== (params.request_id === undefined);
const oneKey = { path: ["task_id"], message: "exactly one of task_id and request_id" };
const oneKeyInJsonSchema = {
  oneOf: [
    { properties: { task_id: {} }, required: ["task_id"] },
    { properties: { request_id: {} }, required: ["request_id"] },
  ],
};

const getTaskParamsSchema = z
  .object({
    ...taskKey,
    wait_ms: optionalField(z.int().min(0).max(maxWaitMs)).describe(
      "How long the host holds the answer until the task changes, in milliseconds",
    ),
  })
  .refine(namesOneTask, oneKey)
  .meta(oneKeyInJsonSchema);
const cancelTaskParamsSchema = z
  .object({ ...taskKey, reason: optionalField(z.string().max(1000)) })
  .refine(namesOneTask, oneKey)
  .meta(oneKeyInJsonSchema);
export const cancelResultSchema = z.looseObject({ status: z.literal("canceled"), task_id: taskId });
const answerTaskParamsSchema = z.object({
  task_id: taskId,
  option_id: optionalField(optionIdSchema),
  text: optionalField(z.string().max(maxTextLength)),
  fields: optionalField(fieldValuesSchema).describe(
    "The values of the question's fields, by their ids",
  ),
  user_id: optionalField(slackId),
  approved_by: optionalField(approvedBySchema).describe(
    "Everyone who chose the option, if several people had to. user_id is the last one",
  ),
  question_id: optionalField(z.string().min(1).max(128)).describe(
    "The id of the answered question, if it has one",
  ),
});
/** Optional for a host. `voter_id` says nothing about the person, but is the same for all votes of one person. */
const feedbackParamsSchema = z
  .object({
    ...taskKey,
    vote: z.enum(["up", "down"]),
    voter_id: z
      .string()
      .min(1)
      .max(64)
      .describe("An opaque id of the person. A later vote of theirs replaces this one"),
    voted_at: timestamp.describe(
      "When the person voted. A vote older than the stored one of the same voter is ignored",
    ),
  })
  .refine(namesOneTask, oneKey)
  .meta(oneKeyInJsonSchema);
export type Vote = z.infer<typeof feedbackParamsSchema>["vote"];
export const feedbackResultSchema = z.looseObject({
  status: z.literal("recorded"),
  task_id: taskId,
});
const discoverParamsSchema = optionalField(z.object({}));
export const discoverResultSchema = z.looseObject({ openrpc: z.string() });

/** The methods by name. The host, the client and the OpenRPC document use this table. */
export const methods = {
  execute_task: { params: executeTaskParamsSchema, result: taskResultSchema },
  get_task: { params: getTaskParamsSchema, result: taskResultSchema },
  cancel_task: { params: cancelTaskParamsSchema, result: cancelResultSchema },
  answer_task: { params: answerTaskParamsSchema, result: taskResultSchema },
  feedback: { params: feedbackParamsSchema, result: feedbackResultSchema },
  "rpc.discover": { params: discoverParamsSchema, result: discoverResultSchema },
} as const;

export type MethodName = keyof typeof methods;
export type ParamsOf<M extends MethodName> = z.infer<(typeof methods)[M]["params"]>;
export type ResultOf<M extends MethodName> = z.infer<(typeof methods)[M]["result"]>;

/** True for the ids of `execute_task` that are deduplicated: UUIDs, in upper or lower case. */
export function isDedupedId(id: RequestId): id is string {
  return typeof id === "string" && z.regexes.guid.test(id);
}

function isAttachmentUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isSecureUrl(url);
}

export const taskStateSchema = z.enum([
  "submitted",
  "working",
  "input_required",
  "completed",
  "failed",
  "canceled",
  "rejected",
]);
export type TaskState = z.infer<typeof taskStateSchema>;

const followers: Record<TaskState, readonly TaskState[]> = {
  submitted: ["working", "rejected", "failed", "canceled"],
  working: ["input_required", "completed", "failed", "canceled", "rejected"],
  input_required: ["working", "completed", "failed", "canceled", "rejected"],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

/** Terminal states never change. */
export function canTransition({ from, to }: { from: TaskState; to: TaskState }): boolean {
  return followers[from].includes(to);
}

/** `from` is the task's state, and `to` is the requested one. */
export function transitionError(request: {
  taskId: string;
  /** The correlation id of the request that began the task. */
  correlationId?: string;
  from: TaskState;
  to: TaskState;
}): SekishoError {
  const { taskId, correlationId, from, to } = request;
  const details = {
    task_id: taskId,
    ...(correlationId && { correlation_id: correlationId }),
    current: from,
    target: to,
  };
  return new SekishoError("invalid_state", { details });
}

export function isTerminal(state: TaskState): boolean {
  return followers[state].length === 0;
}
