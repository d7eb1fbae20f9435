/** The Verification zone's record of one task: everything that is known of it, in one item of the task store. */
import * as z from "zod";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { reasonSchema } from "../../../contracts/error-data.ts";
import type { TaskResult } from "../../../contracts/methods.ts";
import { artifactSchema, executeTaskParamsSchema, questionOptionSchema } from "../../../contracts/methods.ts";
import { type AskMessage, askMessageSchema, type Installation } from "./messages.ts";

export type Locale = "en" | "ja";

const recordLifeMs = 30 * 24 * 3600_000;

const countSchema = z.int().min(0);

export const tokensSchema = z.object({
  input: countSchema.optional(),
  output: countSchema.optional(),
  total: countSchema.optional(),
});
export type TokenUsage = z.infer<typeof tokensSchema>;

/** What the user will read: the agent's words, or which words of ours. */
const outcomeSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("answer"),
    text: z.string(),
    artifacts: z.array(artifactSchema).optional(),
    /** How many artifacts could not be carried here. */
    leftOut: z.int().optional(),
    /** What its agent says that it took. */
    tokens: tokensSchema.optional(),
    /** Of the files that the answer comes with (`slack/messages/answer.ts`), in their order: Slack's id, or that it cannot be had. */
    uploads: z.array(z.union([z.object({ fileId: z.string() }), z.object({ failed: z.literal(true) })])).optional(),
  }),
  z.object({
    type: z.literal("failed"),
    reason: z.union([reasonSchema, z.literal("ambiguous")]),
    /** The Execution zone lost the task on the way. */
    lost: z.boolean(),
    /** Slack did not take the agent's answer: of that no part is to stay. */
    insteadOfAnswer: z.literal(true).optional(),
  }),
  z.object({ type: z.literal("refused") }),
  z.object({ type: z.literal("too_old") }),
  /** The message was the wish to cancel what its thread waits for: so many tasks. */
  z.object({ type: z.literal("canceling"), count: z.int() }),
  /** The message that was to be tried again is gone, or cannot be read. */
  z.object({ type: z.literal("unreadable") }),
  /** Too many tasks of that person, or in that channel: accepted within a time (then `retryAtMs` says when again), or at once. */
  z.object({ type: z.literal("limited"), by: z.enum(["user", "channel"]), retryAtMs: z.int().optional() }),
  /** A file of the message cannot be taken along. */
  z.object({
    type: z.literal("file_refused"),
    why: z.enum(["too_large", "too_many", "not_to_be_had"]),
    name: z.string(),
    /** What would fit: bytes, or files. */
    most: z.int().optional(),
  }),
  /** Nobody answered what the agent asked. */
  z.object({ type: z.literal("unanswered") }),
  /** The thread waits for an answer that somebody else is to give. */
  z.object({ type: z.literal("not_yours") }),
]);
export type TaskOutcome = z.infer<typeof outcomeSchema>;

const stateSchema = z.enum(["received", "queued", "announced", "sent", "waiting", "asking", "delivering", "done"]);

/** How far the agent says it is, and what of that the thread shows. */
const shownProgressSchema = z.object({
  text: z.string().optional(),
  percent: z.number().optional(),
  /** The answer as far as it is written. */
  partialText: z.string().optional(),
  /** When the thread was last changed for it. */
  shownAtMs: z.int(),
  /** An edit may land late: what it would change is not to be the answer. */
  inDoubt: z.literal(true).optional(),
});

/** A native stream of Slack: its messages, the latest last, and how much of the partial text they hold together. */
const streamSchema = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      startedAtMs: z.int(),
      /** Which Markdown it shows (`slack/stream-piece.ts`). */
      shows: z.object({ from: z.int(), length: z.int(), digest: z.string() }).optional(),
    }),
  ),
  length: z.int(),
  /** Slack does not take it: edits of the placeholder must do. */
  refused: z.literal(true).optional(),
  /** A message of it may be there that nobody knows of. */
  inDoubt: z.literal(true).optional(),
});

const givenAnswerSchema = z.object({
  user: z.string(),
  atMs: z.int(),
  /** Counts from 0; absent where it was answered in words. */
  option: z.int().optional(),
  text: z.string().optional(),
  /** The request id of the message that answered. */
  from: z.string().optional(),
  /** The id of the call that brings it: the same at every repetition. */
  callId: z.string(),
  /** What is known of the calls that bring it to the agent; absent before the first one, and where none can have brought it. */
  arrival: z
    .discriminatedUnion("type", [
      z.object({ type: z.literal("in_doubt"), sinceMs: z.int() }),
      z.object({ type: z.literal("arrived") }),
    ])
    .optional(),
  /** How often the agent was found still asking since it was given: it may not have looked yet. */
  stillAskedTimes: z.int().optional(),
});
export type GivenAnswer = z.infer<typeof givenAnswerSchema>;

/** What the agent asks: open until `expiresAtMs`, answered once. */
const questionSchema = z.object({
  /** Counts from 0. */
  index: z.int(),
  /** The Execution zone's own, where it has one. */
  id: z.string().optional(),
  prompt: z.string(),
  options: z.array(questionOptionSchema),
  kind: z.literal("auth").optional(),
  askedAtMs: z.int(),
  expiresAtMs: z.int(),
  /** The message that shows it. */
  ts: z.string().optional(),
  answer: givenAnswerSchema.optional(),
});
export type AgentQuestion = z.infer<typeof questionSchema>;

/** The message in the thread that says that the task is under way. */
const placeholderSchema = z.object({ ts: z.string(), postedAtMs: z.int() });

/** Where the task goes in the Execution zone, what is sent, and what is known of its arrival. Present once it has a destination. */
export const callSchema = z.object({
  /** Chosen before the first byte is sent, another one only while nothing can have arrived. */
  destination: z.string(),
  sessionId: z.string(),
  /** So many sessions of its own it has begun, because those before may have ended before the task. */
  ownSessions: z.int().optional(),
  /** The latest of them has answered nothing yet. */
  isSessionNew: z.literal(true).optional(),
  /** Sent, and re-sent unchanged, until the task is accepted. */
  params: executeTaskParamsSchema.optional(),
  /** Its time counts from its turn in the thread on. */
  deadlineAtMs: z.int().optional(),
  /** Where the destination led when the task was sent there. */
  address: z.string().optional(),
  /**
   * What a send may have left at the destination. `none`: nothing, so that the task may go elsewhere. `refused`: it was answered
   * that the task could not be taken, and it may have been taken down all the same. `in_doubt`: no answer came, so it is looked up.
   */
  arrival: z.enum(["none", "refused", "in_doubt"]),
  /** By destination that it certainly did not reach: how often that was tried, and when it may be again. */
  undeliveredAttempts: z.record(z.string(), z.object({ times: z.int(), notBeforeMs: z.int() })).optional(),
  /** The Execution zone's id of the accepted task. */
  taskId: z.string().optional(),
});
export type TaskCall = z.infer<typeof callSchema>;

/** How long the agent has been at work, and how often it was polled. Present once the task was sent. */
const waitSchema = z.object({
  /** Since when its agent may be at work: it was sent then, or went on after a question. Polls grow apart with this age. */
  workStartedAtMs: z.int(),
  polls: z.int(),
  polledAtMs: z.int().optional(),
  /** When the next poll is due at the earliest, as it was planned last. */
  nextPollAtMs: z.int().optional(),
  /** What the host advised last. */
  pollAfterMs: z.int().optional(),
});

/** How far the outcome is on its way into the thread. Present from then on that it goes there. */
const deliverySchema = z.object({
  /**
   * `posting`: it is posted, or was. Where Slack took it at none of its tries: `last_words`, one plain text says so in its place;
   * `given_up`, nothing more is posted. Then the outcome stays in the record, so that an operator can have it delivered.
   */
  status: z.enum(["posting", "last_words", "given_up"]),
  /** The answer's words are others than when its first parts were posted: those are edited. */
  rewriteParts: z.literal(true).optional(),
});

/** What led to which state, and when. */
const historyEntrySchema = z.object({ atMs: z.int(), event: z.string(), state: stateSchema });

export const taskSchema = z.object({
  /** The request id. */
  id: z.string().regex(uuidPattern),
  revision: z.int(),
  state: stateSchema,
  thread: z.string(),
  principal: z.string(),
  expiresAtMs: z.int(),
  /** Wake-ups below this are of a link of the chain that has been finished. */
  wakeSeq: z.int(),
  /** Held while a worker acts on the task; one that has lapsed says that a worker died in the act. */
  lease: z.object({ owner: z.string(), untilMs: z.int() }).optional(),
  /** Failed acts in a row in this state; grows the delay before the next one. */
  attempts: z.int(),
  /** An earlier try in this state may have posted something: look at the thread before posting again. */
  reconcile: z.literal(true).optional(),
  /** Those of them, the latest, whose answers say nothing of the task: that break the contract, or refuse to speak of it. */
  nonTransientFailures: z.int().optional(),

  receivedAtMs: z.int(),
  /** In order, the latest last; changes of the state and the wishes of people, not every poll. */
  history: z.array(historyEntrySchema).default([]),
  /** The task that this one is an operator's retry of. */
  retryOf: z.string().optional(),
  trace: askMessageSchema.shape.trace,
  message: askMessageSchema.shape.message,

  /** How many tasks of the thread went before it when it was last looked. */
  queuePosition: z.int().optional(),
  placeholder: placeholderSchema.optional(),
  call: callSchema.optional(),
  wait: waitSchema.optional(),
  /** Why the task is being canceled; only a result that is there already still counts. */
  cancelReason: z.enum(["deadline", "asked", "unanswered"]).optional(),

  /** The language of the words for whoever asked. */
  locale: z.enum(["en", "ja"]).optional(),
  /** Where the answer goes if not to the message's own thread: a slash command has none. */
  place: z.object({ channel: z.string(), threadTs: z.string() }).optional(),
  progress: shownProgressSchema.optional(),
  stream: streamSchema.optional(),
  question: questionSchema.optional(),
  /** The request ids of the messages that have answered its questions. */
  answeredBy: z.array(z.string()).optional(),
  /** Slack does not take the answer's blocks: it is told in mrkdwn alone. */
  mrkdwnFallback: z.literal(true).optional(),

  outcome: outcomeSchema.optional(),
  delivery: deliverySchema.optional(),
  /** An act that the handler of dead letters may not do itself. The next wake-up does it, once, before anything else. */
  owed: z.enum(["cancel", "leave_thread"]).optional(),
  /** Nothing is left to do: the cleanup has looked at the thread once more, or nothing was ever posted. */
  cleanupDone: z.boolean(),
  /** The texts of the message, and of an answer that was delivered, are gone. A redrive cannot bring them back. */
  textsErased: z.literal(true).optional(),
});
export type Task = z.infer<typeof taskSchema>;

/** The record as it is when the conditional create claims the message. */
export function receivedTask(ask: AskMessage): Task {
  const { message } = ask;
  return {
    id: ask.requestId,
    revision: 1,
    state: "received",
    thread: threadKeyOf(message),
    principal: `${message.team}/${message.user}`,
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

/** Whose turns a task's queue messages take: a destination that is slow holds up no other, and a team no other team. */
export function queueGroupOf({ message, call }: Pick<Task, "message" | "call">): string {
  return call === undefined ? message.team : `${message.team}/${call.destination}`;
}

/** Names the thread among all threads. */
export function threadKeyOf(message: { channel: string; ts: string; threadTs?: string | undefined }): string {
  return `${message.channel}/${threadOf(message)}`;
}

/** Whose token is used for the task. */
export function installationOf({ message: { team, enterprise } }: Pick<Task, "message">): Installation {
  return { team, enterprise };
}

/** Where everything of the task is posted. */
export function placeOf({ message, place }: Pick<Task, "message" | "place">): { channel: string; threadTs: string } {
  return place ?? { channel: message.channel, threadTs: threadOf(message) };
}

/** Whether Slack took the outcome at none of its tries. */
export function hasFailedDelivery({ delivery }: Pick<Task, "delivery">): boolean {
  return delivery !== undefined && delivery.status !== "posting";
}

/** The thread that the answer goes to: the message's own, or the one that starts with it. */
function threadOf(message: { ts: string; threadTs?: string | undefined }): string {
  return message.threadTs ?? message.ts;
}

/** The member of a taken result that counts its missing artifacts. A peer's own member of that name is dropped. */
export const leftOutMember = "left_out";

/** How many artifacts of the result were left out. */
export function leftOutCountOf(result: TaskResult): number {
  const count = result[leftOutMember];
  return typeof count === "number" ? count : 0;
}

/** Names of token counts as the common interfaces of models call them, without case, dashes and underscores. */
const tokenNames = {
  input: ["inputtokens", "prompttokens", "inputtokencount", "prompttokencount", "promptevalcount"],
  output: ["outputtokens", "completiontokens", "outputtokencount", "candidatestokencount", "evalcount"],
  total: ["totaltokens", "totaltokencount"],
} as const;

/**
 * How many tokens a task took, from whatever names its agent gives them. Undefined where nothing in it is a count of tokens. Without
 * a total of its own, that is the sum of what is known.
 */
export function tokensOf(usage: Readonly<Record<string, unknown>> | undefined): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  const counts = new Map(
    Object.entries(usage).flatMap(([name, value]) => {
      const count = countSchema.safeParse(value).data;
      return count === undefined ? [] : [[name.toLowerCase().replaceAll(/[-_]/g, ""), count] as const];
    }),
  );
  const countOf = (known: readonly string[]) =>
    known.map((name) => counts.get(name)).find((count) => count !== undefined);
  const input = countOf(tokenNames.input);
  const output = countOf(tokenNames.output);
  const total = countOf(tokenNames.total) ?? sum(input, output);
  if (total === undefined) return undefined;
  return { ...(input !== undefined && { input }), ...(output !== undefined && { output }), total };
}

function sum(input: number | undefined, output: number | undefined): number | undefined {
  if (input === undefined && output === undefined) return undefined;
  const both = (input ?? 0) + (output ?? 0);
  return Number.isSafeInteger(both) ? both : undefined;
}
