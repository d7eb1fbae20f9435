/** The Verification zone's record of one task, one item of the task store. */

import { answerersSchema } from "@sekisho/contracts/answer-rules.ts";
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import { reasonSchema } from "@sekisho/contracts/error-data.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import {
  artifactSchema,
  executeTaskParamsSchema,
  questionOptionSchema,
  stepSchema,
} from "@sekisho/contracts/methods.ts";
import { fieldValuesSchema, questionFieldsSchema } from "@sekisho/contracts/question-fields.ts";
import * as z from "zod";
import { type AskMessage, askMessageSchema, type Installation, voteSchema } from "./messages.ts";
import { tokensSchema } from "./token-usage.ts";

export type Locale = "en" | "ja";

const recordLifeMs = 30 * 24 * 3600_000;

/** The text for the user: the agent's answer, or one of Sekisho's own texts. */
const outcomeSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("answer"),
    text: z.string(),
    artifacts: z.array(artifactSchema).optional(),
    /** How many artifacts were left out, because they break the contract or are too many. */
    leftOut: z.int().optional(),
    /** The token usage that the agent reports. */
    tokens: tokensSchema.optional(),
    /** The answer's files (`slack/messages/answer.ts`) in their order, each with Slack's id, or marked as failed. */
    uploads: z
      .array(z.union([z.object({ fileId: z.string() }), z.object({ failed: z.literal(true) })]))
      .optional(),
    /** For each fetch that timed out, the index of its file. */
    fetchTimeouts: z.array(z.int()).optional(),
  }),
  z.object({
    type: z.literal("failed"),
    reason: z.union([reasonSchema, z.literal("ambiguous")]),
    /** The Execution zone lost the task on the way. */
    lost: z.boolean(),
    /** The agent's own words about why it failed. Erased with the task's texts. */
    explanation: z.string().optional(),
    /** Slack refused the agent's answer, so no part of it may stay in the thread. */
    insteadOfAnswer: z.literal(true).optional(),
    /** The agent's question could not be answered by anybody, so it was not asked. */
    unanswerable: z.literal(true).optional(),
  }),
  /** `external`: the person may ask elsewhere, but not in a channel that is shared with other organizations. */
  z.object({ type: z.literal("refused"), external: z.literal(true).optional() }),
  z.object({ type: z.literal("too_old") }),
  /** The message was a request to cancel the tasks of its thread: `count` of them. */
  z.object({ type: z.literal("canceling"), count: z.int() }),
  /** The message was the word for help. `text` is what the bot says about itself, in mrkdwn. */
  z.object({ type: z.literal("help"), text: z.string() }),
  /** A message that is tried again is gone, or cannot be read; or its `files` are gone. */
  z.object({ type: z.literal("unreadable"), files: z.literal(true).optional() }),
  /** A quota of the user, the channel or other bots is used up. `retryAtMs` is when there is room; absent for a quota of concurrent tasks. */
  z.object({
    type: z.literal("limited"),
    by: z.enum(["user", "channel", "bots"]),
    retryAtMs: z.int().optional(),
  }),
  /** A file of the message cannot be sent to the agent. */
  z.object({
    type: z.literal("file_refused"),
    why: z.enum(["too_large", "too_many", "not_to_be_had"]),
    name: z.string(),
    /** Why a file is not to be had. `hidden`: Slack refuses it. `canvas`: the app may not read canvases. `list`: Sekisho does not read lists. */
    detail: z.enum(["hidden", "canvas", "list"]).optional(),
    /** The limit: bytes, or files. */
    most: z.int().optional(),
  }),
  /** The agent's question got no reply. */
  z.object({ type: z.literal("unanswered") }),
  /** The thread waits for another person's reply. */
  z.object({ type: z.literal("not_yours") }),
]);
export type TaskOutcome = z.infer<typeof outcomeSchema>;

const stateSchema = z.enum([
  "received",
  "queued",
  "announced",
  "sent",
  "waiting",
  "asking",
  "delivering",
  "done",
]);

/** The agent's progress as the thread shows it. */
const shownProgressSchema = z.object({
  text: z.string().optional(),
  percent: z.number().optional(),
  /** The partial answer. */
  partialText: z.string().optional(),
  steps: z.array(stepSchema).optional(),
  /** When the thread was last changed for it. */
  shownAtMs: z.int(),
  /** The thread does not show it yet. */
  isUnshown: z.literal(true).optional(),
  /** No further edit before that time, because Slack asked for it, or to keep its rate limits. */
  notBeforeMs: z.int().optional(),
  /** An edit may arrive late, so the answer must be a new message. */
  inDoubt: z.literal(true).optional(),
});

/** A native stream of Slack: its messages, the latest last, and the length of the partial text that they hold together. */
const streamSchema = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      startedAtMs: z.int(),
      /** Which part of the Markdown it shows (`slack/messages/stream-piece.ts`). */
      shows: z.object({ from: z.int(), length: z.int(), digest: z.string() }).optional(),
    }),
  ),
  length: z.int(),
  /** Slack refuses the stream, so the placeholder is edited instead. */
  refused: z.literal(true).optional(),
  /** The thread may have a message of it that is not in the record. */
  inDoubt: z.literal(true).optional(),
});

const givenAnswerSchema = z.object({
  user: z.string(),
  atMs: z.int(),
  /** The index of the option. Absent for a reply in words. */
  option: z.int().optional(),
  text: z.string().optional(),
  /** The values of the question's fields. */
  fields: fieldValuesSchema.optional(),
  /** The person says that they have signed in. */
  signedIn: z.literal(true).optional(),
  /** Everyone who chose the option, in their order, if the question has `approvals`. */
  approvedBy: z.array(z.string()).optional(),
  /** The request id of the message that answered, or the id of the submitted modal; absent for a click. */
  from: z.string().optional(),
  /** The JSON-RPC id of the call with the reply, which repetitions keep. */
  callId: z.string(),
  /** How far it came to the agent. Absent while no call can have brought it. */
  arrival: z
    .discriminatedUnion("type", [
      z.object({ type: z.literal("in_doubt"), sinceMs: z.int() }),
      z.object({ type: z.literal("arrived") }),
    ])
    .optional(),
  /** How often a poll found the agent still asking since the answer was given. */
  stillAskedTimes: z.int().optional(),
});
export type GivenAnswer = z.infer<typeof givenAnswerSchema>;

const answerBySchema = z.union([
  z.enum(["asker", "anyone"]),
  z.object({ group: z.string(), team: z.string().optional() }),
]);
export type AnswerBy = z.infer<typeof answerBySchema>;

/** The choice of one person, of which the question needs several. */
const approvalSchema = z.object({ user: z.string(), atMs: z.int(), option: z.int() });
export type Approval = z.infer<typeof approvalSchema>;

/** The agent's question: open until `expiresAtMs`, answered once. */
const questionSchema = z.object({
  /** Counts from 0. */
  index: z.int(),
  /** The Execution zone's id of the question, if it has one. */
  id: z.string().optional(),
  prompt: z.string(),
  options: z.array(questionOptionSchema),
  fields: questionFieldsSchema.optional(),
  kind: z.literal("auth").optional(),
  /** The person who asked signs in by a link. `url` is a credential: it is erased as soon as the question is over. */
  signIn: z.object({ url: z.string().optional() }).optional(),
  /** Who may answer, of those whom the destination's `questions.answerBy` allows. */
  answerers: answerersSchema.optional(),
  /** The destination's `questions.answerBy` when the question was asked, for its text. Who may answer is decided at each answer. */
  answerBy: answerBySchema.optional(),
  /** So many people must choose the same option. The latest choice of each of them counts. */
  approvals: z
    .object({
      needed: z.int(),
      given: z.array(approvalSchema),
      /** The question's message does not show all of them yet. */
      isUnshown: z.literal(true).optional(),
    })
    .optional(),
  askedAtMs: z.int(),
  expiresAtMs: z.int(),
  /** The message that shows it. */
  ts: z.string().optional(),
  answer: givenAnswerSchema.optional(),
});
export type AgentQuestion = z.infer<typeof questionSchema>;

/** The message in the thread that says that the task is under way. */
const placeholderSchema = z.object({ ts: z.string(), postedAtMs: z.int() });

/** The route of the task in its thread, since it has joined the thread (`task/thread-route.ts`). */
const taskRouteSchema = z.object({
  /** Identifies the route: its workspace, channel and word. */
  key: z.string(),
  /** Where the task may go, in order of preference. */
  destinations: z.array(z.string()),
  /** Further destinations whose answers in the thread its agent may read. */
  alsoReads: z.array(z.string()).optional(),
  /** Its agent may not read answers that do not say whose they are. */
  omitsUnmarked: z.literal(true).optional(),
  /**
   * The thread had another route before this task. `named`: the message names this one; `gone`: there is no way to the former one. `isAnew`:
   * the agent does not get all of the earlier answers.
   */
  change: z.object({ reason: z.enum(["named", "gone"]), isAnew: z.boolean() }).optional(),
});
export type TaskRoute = z.infer<typeof taskRouteSchema>;

/** A route that the thread has, or had (`task/thread-route.ts`). */
export const threadRouteSchema = z.object({
  key: z.string(),
  /** The destinations that the route had when the message chose it. */
  destinations: z.array(z.string()),
  /** The `ts` and the request id of the message that chose it. */
  ts: z.string(),
  by: z.string(),
});
export type ThreadRoute = z.infer<typeof threadRouteSchema>;

/** The task's destination, the params that are sent, and whether they arrived. Present once it has a destination. */
export const callSchema = z.object({
  /** Chosen before the first byte is sent, and changed only while nothing can have arrived. */
  destination: z.string(),
  sessionId: z.string(),
  /** How many sessions of its own the task has begun, because the earlier ones would have ended before it. */
  ownSessions: z.int().optional(),
  /** The latest own session has not answered a call yet. */
  isSessionNew: z.literal(true).optional(),
  /** Sent, and re-sent unchanged, until the task is accepted. */
  params: executeTaskParamsSchema.optional(),
  /** Set when the task's turn in the thread comes. */
  deadlineAtMs: z.int().optional(),
  /** The digest of the destination's address when the task was sent. */
  address: z.string().optional(),
  /**
   * What a send may have left at the destination. `none`: nothing, so the task may go elsewhere. `refused`: the destination refused the
   * task, but may have stored it. `in_doubt`: there was no response, so the task is looked up.
   */
  arrival: z.enum(["none", "refused", "in_doubt"]),
  /** For each destination that the task certainly did not reach: the number of tries, and when the next one may be. */
  undeliveredAttempts: z
    .record(z.string(), z.object({ times: z.int(), notBeforeMs: z.int() }))
    .optional(),
  /** The Execution zone's id of the accepted task. */
  taskId: z.string().optional(),
});
export type TaskCall = z.infer<typeof callSchema>;

/** How long the agent has been at work, and how often it was polled. Present once the task was sent. */
const waitSchema = z.object({
  /** When the task was sent, or went on after a question. The gaps of polls grow with this age. */
  workStartedAtMs: z.int(),
  polls: z.int(),
  polledAtMs: z.int().optional(),
  /** The planned time of the next poll. */
  nextPollAtMs: z.int().optional(),
  /** The gap that the host advised last. */
  pollAfterMs: z.int().optional(),
  /** The shortest gap before the next poll, because the last answer was large. */
  minPollGapMs: z.int().optional(),
});

/** The state of the delivery. Present once the outcome is set. */
const deliverySchema = z.object({
  /**
   * `posting`: the outcome is being posted, or was. After Slack refused every try: `failure_notice`, one plain text is posted instead;
   * `given_up`, nothing more is posted. In both cases the outcome stays in the record, so that an operator can redrive the delivery.
   */
  status: z.enum(["posting", "failure_notice", "given_up"]),
  /** The answer's text has changed since its first parts were posted, so they are edited. */
  rewriteParts: z.literal(true).optional(),
});

/** An event, the state that it led to, and when. */
const historyEntrySchema = z.object({ atMs: z.int(), event: z.string(), state: stateSchema });

export const taskSchema = z.object({
  /** The request id. */
  id: z.string().regex(uuidPattern),
  revision: z.int(),
  state: stateSchema,
  thread: z.string(),
  /** The key of the person who asked, in the index `principal`. */
  principal: z.string(),
  /** Absent once the task is done, so that the index lists a person's tasks under way. */
  listedAtMs: z.int().optional(),
  expiresAtMs: z.int(),
  /** The number of the next wake-up in the task's chain. Wake-ups with a lower number are finished, and are dropped. */
  wakeSeq: z.int(),
  /** The key of the wake-up with that number, if it has one. */
  wakeKey: z.string().optional(),
  /** Held while a worker acts on the task. A lease that has expired means that the worker died during an act. */
  lease: z.object({ owner: z.string(), untilMs: z.int() }).optional(),
  /** Failed acts in a row in this state. The delay before the next try grows with it. */
  attempts: z.int(),
  /** An earlier try in this state may have posted something: look at the thread before posting again. */
  reconcile: z.literal(true).optional(),
  /** The latest of these failures that were answered and say nothing about the task, such as a response that breaks the contract. */
  nonTransientFailures: z.int().optional(),
  /** How many of these failures were reads of the thread that Slack's rate limit refused. */
  limitedReads: z.int().optional(),

  receivedAtMs: z.int(),
  /** Changes of the state and requests of people, not every poll. The latest last. */
  history: z.array(historyEntrySchema),
  /** The task that this one is a retry of. */
  retryOf: z.string().optional(),
  trace: askMessageSchema.shape.trace,
  message: askMessageSchema.shape.message,

  /** How many tasks of the thread were before it at the last look. */
  queuePosition: z.int().optional(),
  placeholder: placeholderSchema.optional(),
  route: taskRouteSchema.optional(),
  call: callSchema.optional(),
  wait: waitSchema.optional(),
  /** Why the task is being canceled. A result counts only if it exists already. */
  cancelReason: z.enum(["deadline", "asked", "unanswered"]).optional(),

  /** The thread says that this change of the message came too late. A deletion is said after an edit, too. */
  lateChange: z.enum(["edited", "deleted"]).optional(),

  /** The language of texts for the person who asked. */
  locale: z.enum(["en", "ja"]).optional(),
  /** The thread that was opened for a slash command, which has none of its own. */
  threadRef: z.object({ channel: z.string(), threadTs: z.string() }).optional(),
  progress: shownProgressSchema.optional(),
  stream: streamSchema.optional(),
  question: questionSchema.optional(),
  /** The request ids of the messages, and the ids of the modals, that have answered its questions. */
  answeredBy: z.array(z.string()).optional(),
  /** Slack refuses the blocks, so texts are posted as mrkdwn only. */
  mrkdwnFallback: z.literal(true).optional(),

  /** The votes on the answer: the latest one of each person, under an opaque id (`routing.ts`), the newest last. */
  votes: z.array(z.object({ voterId: z.string(), vote: voteSchema, atMs: z.int() })).optional(),

  outcome: outcomeSchema.optional(),
  delivery: deliverySchema.optional(),
  /** When the task ended first. Absent if it is not counted as use (`usage/entry.ts`). */
  endedAtMs: z.int().optional(),
  /** The token usage of an answer whose text is erased. */
  tokens: tokensSchema.optional(),
  /** The beginning of the erased texts, if the configuration keeps them. */
  texts: z.object({ question: z.string(), answer: z.string().optional() }).optional(),
  /**
   * The next wake-up runs this act once, before anything else: the handler of dead letters has no permission for it, or it is the cancel of
   * a task that has its outcome, and the worker that ran it may have died.
   */
  owed: z.enum(["cancel", "leave_thread"]).optional(),
  /** The cleanup has run, or nothing was ever posted. */
  cleanupDone: z.boolean(),
  /** The texts of the message, and of a delivered answer, are erased. A redrive cannot restore them. */
  textsErased: z.literal(true).optional(),
});
export type Task = z.infer<typeof taskSchema>;

/** Throws if it is not a task. Members that only a newer version knows stay, because they must survive the next write. */
export function parseTask(json: unknown): Task {
  taskSchema.parse(json);
  return json as Task;
}

/** The task without members that only a newer version knows. They may hold texts, so they go when the texts are erased. */
export function withoutUnknown(task: Task): Task {
  return taskSchema.safeParse(task).data ?? task;
}

/** The first record of a message, which the conditional create stores. */
export function receivedTask(
  ask: Pick<AskMessage, "requestId" | "receivedAtMs" | "trace" | "message" | "retryOf">,
): Task {
  const { message } = ask;
  return {
    id: ask.requestId,
    revision: 1,
    state: "received",
    thread: threadKeyOf(message),
    principal: personKeyOf(message),
    listedAtMs: ask.receivedAtMs,
    expiresAtMs: ask.receivedAtMs + recordLifeMs,
    wakeSeq: 0,
    attempts: 0,
    receivedAtMs: ask.receivedAtMs,
    history: [{ atMs: ask.receivedAtMs, event: "asked", state: "received" }],
    ...(ask.retryOf === undefined ? {} : { retryOf: ask.retryOf }),
    trace: ask.trace,
    message,
    cleanupDone: false,
  };
}

/** The key under which a person's tasks are listed. */
export function personKeyOf({ team, user }: { team: string; user: string }): string {
  return `${team}/${user}`;
}

/** The group of a task's queue messages. It keeps a slow destination, or a busy team, from holding up others. */
export function queueGroupOf({ message, call }: Pick<Task, "message" | "call">): string {
  return call === undefined ? message.team : `${message.team}/${call.destination}`;
}

export function threadKeyOf(message: {
  channel: string;
  ts: string;
  threadTs?: string | undefined;
}): string {
  return `${message.channel}/${threadOf(message)}`;
}

/** The installation whose bot token is used for the task. */
export function installationOf({
  message: { team, enterprise },
}: Pick<Task, "message">): Installation {
  return { team, enterprise };
}

/** The thread that the task's posts go to. */
export function threadRefOf({ message, threadRef }: Pick<Task, "message" | "threadRef">): {
  channel: string;
  threadTs: string;
} {
  return threadRef ?? { channel: message.channel, threadTs: threadOf(message) };
}

/** True if the delivery was given up because Slack refused every try. */
export function hasFailedDelivery({ delivery }: Pick<Task, "delivery">): boolean {
  return delivery !== undefined && delivery.status !== "posting";
}

/** True if the task was canceled, or a person canceled it and nobody knows whether it has stopped. Neither is shown as a failure. */
export function isCanceled({
  outcome,
  cancelReason,
}: Pick<Task, "outcome" | "cancelReason">): boolean {
  if (outcome?.type !== "failed" || outcome.lost) return false;
  return (
    outcome.reason === "canceled" || (outcome.reason === "ambiguous" && cancelReason === "asked")
  );
}

/** The `ts` of the message's thread, or of the thread that starts with the message. */
function threadOf(message: { ts: string; threadTs?: string | undefined }): string {
  return message.threadTs ?? message.ts;
}

/** The member of a result with the number of artifacts that were left out. A peer's own member of that name is dropped. */
export const leftOutMember = "left_out";

export function leftOutCountOf(result: TaskResult): number {
  const count = result[leftOutMember];
  return typeof count === "number" ? count : 0;
}

/** The member of a question whose rules about who may answer cannot be read. A peer's own member of that name is dropped. */
export const unanswerableMember = "unanswerable";
