/**
 * The messages of the verification queue: a user message, its edit or deletion, a wake-up of a task, a request to cancel or redrive one, a
 * button click, a submitted form, a use of the message shortcut, an opened conversation or App Home, and a use of Slack's stop button.
 */

import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import { fieldValuesSchema } from "@sekisho/contracts/question-fields.ts";
import * as z from "zod";

/** The app's installation, which decides the bot token: one workspace, or a whole organization (Enterprise Grid). */
export type Installation = { team: string; enterprise?: string | undefined };

const requestId = z.string().regex(uuidPattern);

/** The fields of `Installation`, in every message that calls Slack. */
const installation = {
  /** The installation's workspace: `context_team_id`, or `team_id` if Slack sends none. */
  team: z.string(),
  /** Present if the app is installed in the whole organization. */
  enterprise: z.string().optional(),
};

/** The person's workspace or organization, as Slack names it. Absent if Slack names none, and mostly in messages of version 1.0.0. */
const userTeam = z.string().optional();

/** A file of a message as Slack describes it; `url` needs the bot token. */
const userFileSchema = z.object({
  id: z.string(),
  name: z.string(),
  mimetype: z.string(),
  size: z.int().min(0),
  /** Absent if Slack does not store the file, or does not let the bot read it. */
  url: z.string().optional(),
  /** Slack sent little more than the id (Slack Connect). `files.info` has the rest. */
  isStub: z.literal(true).optional(),
});
export type UserFile = z.infer<typeof userFileSchema>;

/** Something that the person had open in Slack. Whether the agent may know it is checked before the task is sent. */
const openItemSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("channel"), id: z.string() }),
  z.object({ type: z.literal("message"), id: z.string(), channel: z.string() }),
]);
export type OpenItem = z.infer<typeof openItemSchema>;

const externalSchema = z.enum(["channels", "people"]);

/** One Slack message for the bot. `text` has the bot's own mention removed. */
export const userMessageSchema = z.object({
  appId: z.string(),
  ...installation,
  channel: z.string(),
  user: z.string(),
  /** The person's workspace or organization, if Slack names another one than the installation's (Slack Connect, Enterprise Grid). */
  userTeam: z.string().optional(),
  ts: z.string(),
  threadTs: z.string().optional(),
  /** It is in the direct message between the person and the bot. */
  direct: z.boolean(),
  text: z.string(),
  /** The bot's own users, whose mentions were removed from the text. */
  botUsers: z.array(z.string()).optional(),
  /** A reply that does not mention the bot. It is answered only in a thread in which the bot was asked before. */
  unaddressed: z.literal(true).optional(),
  /**
   * It mentions someone in a Slack Connect channel. If that is the bot's user in another workspace, Slack also sends the message as
   * `app_mention`, and that event counts.
   */
  perhapsAddressed: z.literal(true).optional(),
  files: z.array(userFileSchema).optional(),
  /** Files of messages that it forwards. The task goes on without those that cannot be read. */
  sharedFiles: z.array(userFileSchema).optional(),
  /** The message had files, whose names were erased with its text. */
  hadFiles: z.literal(true).optional(),
  /** The items that the person had open, most relevant first. In direct messages only. */
  open: z.array(openItemSchema).optional(),
  /** Slack's ids of the bot that wrote it: of the bot (B…), of its app (A…) and of a workflow (Wf…). Absent if a person wrote it. */
  botIds: z.array(z.string()).optional(),
  /** `channels`: the channel is shared with other organizations (Slack Connect). `people`: its writer belongs to one of them, too. */
  external: externalSchema.optional(),
  /** Slack's time of the latest edit that is in the text. */
  editedTs: z.string().optional(),
  /** A slash command: `ts` is the time of its receipt, and the channel has no message of it. */
  command: z.literal(true).optional(),
  /**
   * The message shortcut: the message that the person asks about, which is read before the task is accepted, and what to do with it. The
   * `ts` of this `UserMessage` is the time at which the shortcut was chosen.
   */
  about: z
    .object({ ts: z.string(), instruction: z.string(), hadInstruction: z.literal(true).optional() })
    .optional(),
});
export type UserMessage = z.infer<typeof userMessageSchema>;

export const askMessageSchema = z.object({
  type: z.literal("ask"),
  requestId,
  receivedAtMs: z.int(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  message: userMessageSchema,
  /** A retry of the task with this request id, by an operator or by its button. Text and files are read from Slack again. */
  retryOf: requestId.optional(),
  /** It was a dead letter. A copy is stored for an operator, and this one is retried automatically. */
  buried: z.boolean().optional(),
  /** For a message that does not mention the bot: how often its thread was looked up without success. */
  looks: z.int().optional(),
});
export type AskMessage = z.infer<typeof askMessageSchema>;

/**
 * A message was edited or deleted. `message` is its new version, without text if it was deleted. If the original message was not handled
 * yet, it is never handled: this one takes its place. Without `editedTs` it is the message with files that came later than its text.
 */
const messageChangeSchema = askMessageSchema.omit({ retryOf: true }).extend({
  type: z.literal("message_change"),
  isDeleted: z.literal(true).optional(),
  /** How often it arrived while a worker held the task's lease. */
  early: z.int().optional(),
});
export type MessageChange = z.infer<typeof messageChangeSchema>;

/** `seq` is the number in the task's chain of wake-ups. A wake-up below the record's `wakeSeq` is dropped. */
const wakeSchema = z.object({
  type: z.literal("wake"),
  requestId,
  seq: z.int().min(1),
  /** How often it arrived before the record was saved. A wake-up of a completion push starts higher (`worker/messages/completion.ts`). */
  early: z.int().optional(),
  /** The number of polls so far, of which the record knows only some (`worker/step/save.ts`). */
  polls: z.int().optional(),
  /** Sent by a step without a lease, which another worker may have done as well. The record has the key of the step that counts. */
  key: z.string().optional(),
});

/** An operator redrives a task: it goes on from its present state, even if its wake-ups are lost. */
const redriveSchema = z.object({ type: z.literal("redrive"), requestId });

/** A person asked to cancel a task. `early`: how often it arrived while a worker held the task's lease. */
const cancelSchema = z.object({ type: z.literal("cancel"), requestId, early: z.int().optional() });

/** The task before this one in its thread is over, so this one may begin. `early` is the same as in `cancel`. */
const threadFreeSchema = z.object({
  type: z.literal("thread_free"),
  requestId,
  early: z.int().optional(),
});

export const voteSchema = z.enum(["up", "down"]);

/** Sent by version 1.0.0: the task's record has a vote that the Execution zone is to get. */
const voteGivenSchema = z.object({
  type: z.literal("vote_given"),
  requestId,
  voterId: z.string(),
});
export type VoteGiven = z.infer<typeof voteGivenSchema>;

/** A person clicked a button of one of the bot's messages. `question` and `option` count from 0. */
const buttonClickSchema = z.object({
  type: z.literal("button_click"),
  requestId,
  ...installation,
  /** Absent for a button of the App Home. */
  channel: z.string().optional(),
  threadTs: z.string().optional(),
  user: z.string(),
  userTeam,
  atMs: z.int(),
  button: z.discriminatedUnion("type", [
    z.object({ type: z.literal("cancel") }),
    z.object({ type: z.literal("answer"), question: z.int().min(0), option: z.int().min(0) }),
    /** Opens the modal with the question's fields. Without a trigger no modal can be opened. */
    z.object({
      type: z.literal("open_form"),
      question: z.int().min(0),
      triggerId: z.string().optional(),
    }),
    z.object({ type: z.literal("feedback"), vote: voteSchema }),
    z.object({ type: z.literal("retry") }),
  ]),
});
export type ButtonClick = z.infer<typeof buttonClickSchema>;

/** A person submitted the modal with a question's fields. The values are by the numbers of its inputs, and choices are numbers of options. */
const formSubmittedSchema = z.object({
  type: z.literal("form_submitted"),
  requestId,
  ...installation,
  user: z.string(),
  userTeam,
  atMs: z.int(),
  question: z.int().min(0),
  values: fieldValuesSchema,
  /** Derived from the id of the modal: a repeated submission has the same. */
  submissionId: requestId,
});
export type FormSubmitted = z.infer<typeof formSubmittedSchema>;

/** A person chose the message shortcut. `ts` is that of the message. */
const shortcutUsedSchema = z.object({
  type: z.literal("shortcut_used"),
  requestId,
  ...installation,
  channel: z.string(),
  ts: z.string(),
  threadTs: z.string().optional(),
  /** When the shortcut was chosen, by Slack's clock. */
  actionTs: z.string(),
  user: z.string(),
  userTeam,
  triggerId: z.string(),
});
export type ShortcutUsed = z.infer<typeof shortcutUsedSchema>;

/** A person opened the direct messages with the bot. */
const conversationOpenedSchema = z.object({
  type: z.literal("conversation_opened"),
  requestId,
  ...installation,
  channel: z.string(),
  user: z.string(),
});
export type ConversationOpened = z.infer<typeof conversationOpenedSchema>;

/** A person opened the App Home. */
const homeOpenedSchema = z.object({
  type: z.literal("home_opened"),
  requestId,
  ...installation,
  user: z.string(),
  userTeam,
});
export type HomeOpened = z.infer<typeof homeOpenedSchema>;

/** A person pressed Slack's own stop button in a thread. `streams` are the messages that Slack has stopped with that. */
const sessionStoppedSchema = z.object({
  type: z.literal("session_stopped"),
  requestId,
  ...installation,
  channel: z.string(),
  threadTs: z.string(),
  user: z.string(),
  userTeam,
  streams: z.array(z.string()),
});
export type SessionStopped = z.infer<typeof sessionStoppedSchema>;

/** Something that a person did in Slack without writing a message. */
export type Interaction =
  | ButtonClick
  | FormSubmitted
  | ShortcutUsed
  | ConversationOpened
  | HomeOpened
  | SessionStopped;

export const queueMessageSchema = z.discriminatedUnion("type", [
  buttonClickSchema,
  formSubmittedSchema,
  shortcutUsedSchema,
  conversationOpenedSchema,
  homeOpenedSchema,
  sessionStoppedSchema,
  voteGivenSchema,
  askMessageSchema,
  messageChangeSchema,
  wakeSchema,
  redriveSchema,
  cancelSchema,
  threadFreeSchema,
]);
export type QueueMessage = z.infer<typeof queueMessageSchema>;

/** The messages that move the task that they name. */
export type TaskMessage = Exclude<QueueMessage, Interaction | VoteGiven>;

const interactions: readonly string[] = [
  "button_click",
  "form_submitted",
  "shortcut_used",
  "conversation_opened",
  "home_opened",
  "session_stopped",
] satisfies Interaction["type"][];

export function isInteraction(message: QueueMessage): message is Interaction {
  return interactions.includes(message.type);
}

/** The number of the message in the task's chain of wake-ups. A message that is not part of the chain counts as the next one. */
export function toWakeSeq({
  message,
  task,
}: {
  message: TaskMessage;
  task: { wakeSeq: number };
}): number {
  if (message.type === "wake") return message.seq;
  return message.type === "ask" ? 0 : task.wakeSeq;
}

/** True for a message below the record's number, and for the wake-up of a step that another worker was faster to store. */
export function isSuperseded(request: {
  message: TaskMessage;
  task: { wakeSeq: number; wakeKey?: string | undefined };
}) {
  const { message, task } = request;
  const seq = toWakeSeq(request);
  const isOther =
    message.type === "wake" && message.key !== undefined && message.key !== task.wakeKey;
  return seq < task.wakeSeq || (seq === task.wakeSeq && isOther);
}

/**
 * Returns undefined if the body is not a message of this version. Members that only a newer version knows stay, so that a copy of the
 * message has them too.
 */
export function parseQueueMessage(body: string): QueueMessage | undefined {
  try {
    const json: unknown = JSON.parse(body);
    queueMessageSchema.parse(json);
    return json as QueueMessage;
  } catch {
    return undefined;
  }
}

const newerMessageSchema = z.object({ type: z.string().min(1), requestId });
const knownTypes: readonly string[] = queueMessageSchema.options.map(
  ({ shape }) => shape.type.value,
);

/** True if the body is a message of a type that only a newer version knows. */
export function isNewerMessage(body: string): boolean {
  try {
    return !knownTypes.includes(newerMessageSchema.parse(JSON.parse(body)).type);
  } catch {
    return false;
  }
}
