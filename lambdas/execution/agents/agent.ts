/** The type of an agent: the user's function that does one task. An agent file exports it under the name `agent`. */
import type { Part } from "@sekisho/contracts/a2a/part.ts";
import type { Answerers } from "@sekisho/contracts/answer-rules.ts";
import type {
  Artifact,
  ExecuteTaskParams,
  QuestionOption,
  TaskStep,
  Vote,
} from "@sekisho/contracts/methods.ts";
import type { FieldValues, QuestionField } from "@sekisho/contracts/question-fields.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Trace } from "@sekisho/runtime/telemetry/telemetry.ts";

/**
 * A person whom the Verification zone names in a token that the host has verified (`execution.asker`). Tokens prove who wrote the message or
 * clicked the button, in Slack's words. They do not prove who is at that person's keyboard.
 *
 * @example
 * ```ts
 * import { defineAgent } from "@sekisho/execution/agent";
 *
 * export const agent = defineAgent(async (task, { asker }) =>
 *   asker === undefined ? "I do not know who you are." : `You are ${asker.user} of ${asker.team}.`,
 * );
 * ```
 */
export type VerifiedAsker = Readonly<{
  /** The same for all tasks of one person: `slack:TEAM:USER`, or an opaque text. */
  subject: string;
  /** The issuer of the token. Only issuer and subject together name a person. */
  issuer: string;
  /** The Verification zone that made the token: the ARN of its role, or a name. */
  zone: string;
  /** The workspace of the installation (T…). This and what follows are absent if the zone does not tell it. */
  team?: string | undefined;
  /** The organization of the installation (E…). */
  enterprise?: string | undefined;
  user?: string | undefined;
  channel?: string | undefined;
  /** The timestamp of the thread's first message. */
  thread?: string | undefined;
  /** Confirmed in Slack. */
  email?: string | undefined;
}>;

/**
 * A person's reply to a question of the agent: an option's id, a text, or both; or `fields`, the values of the question's fields by their
 * ids, without those that were left empty. `user_id` is the person who answered, or who says that they have signed in. `approved_by` is
 * everyone who chose the option, if the question needed the approval of several people. `asker` is who replied, if the host has verified it:
 * perhaps another person than the one who asked for the task. `parts` are those of an A2A message. `state` is that of the question.
 */
export type AgentAnswer = Readonly<{
  prompt: string;
  text: string;
  option_id?: string | undefined;
  fields?: FieldValues | undefined;
  user_id?: string | undefined;
  asker?: VerifiedAsker | undefined;
  approved_by?: readonly string[] | undefined;
  parts?: readonly Part[] | undefined;
  state?: unknown;
}>;

/**
 * The validated request. `channel` is absent if the task came from an A2A client. `bot_token` is present only if the sender's
 * destination forwards it.
 */
export type AgentTask = Readonly<
  Omit<ExecuteTaskParams, "channel" | "session_id"> & {
    channel?: string | undefined;
    /** The parts of the request: text, files and data. A Slack message has its text and its attachments. */
    parts: readonly Part[];
    /** The questions of this task that were answered so far. The agent is called again after each answer. */
    answers: readonly AgentAnswer[];
  }
>;

type Attachment = NonNullable<AgentTask["attachments"]>[number];

/**
 * Reads the bytes of an attachment and checks them against its `sha256`, if it has one. Reads from https URLs with public
 * addresses only (on one machine also from the Verification zone's file server), follows no redirect, and stops after
 * `maxBytes` (default 16 MiB) or one minute. Rejects with the signal's reason or with a SekishoError: `permission_denied` for
 * a forbidden address, `payload_too_large`, `invalid_response` for a wrong status or wrong bytes, and `unavailable` if a
 * retry may succeed.
 */
export type ReadAttachment = (request: {
  attachment: Pick<Attachment, "url" | "sha256">;
  maxBytes?: number;
}) => Promise<Uint8Array>;

/**
 * The value that an agent keeps between the tasks of one conversation, such as the id that another service gave it. Agents and callers
 * share none. Both methods do nothing if the caller names no conversation, and call no store before they are called.
 */
export type AgentConversation = {
  /** Resolves to the value that was stored last, or to undefined if there is none. Rejects with a SekishoError `unavailable`. */
  read(): Promise<unknown>;
  /**
   * Stores any JSON of up to 64 KiB for 30 days, instead of the value before. `undefined` removes it. Of tasks that write at the same time, the last
   * one wins. Rejects with a RangeError or a TypeError if the value cannot be stored, and with a SekishoError `unavailable`.
   */
  write(value: unknown): Promise<void>;
};

export type AgentContext = {
  /** The id of the `execute_task` request or A2A message that began the task. A repeated request has the same id. */
  requestId: string;
  taskId: string;
  /** The id of the message that this turn answers: the first request, or the latest answer. */
  messageId: string;
  /**
   * Identifies one conversation of one caller; undefined if the caller names none. It is derived from the caller and its
   * session id or A2A context id, so two callers that send the same id get different values.
   */
  contextId: string | undefined;
  /** An opaque id of the authenticated caller, the same for all its tasks. */
  caller: string;
  /** Who asked for the task, in all its turns. Undefined if the host has not verified it; `user_id` of the task is only the caller's word. */
  asker?: VerifiedAsker | undefined;
  /**
   * The token of the person who asked, to exchange it at an authorization server (RFC 8693). Its audience is this host, so never send it
   * elsewhere as it is. Undefined in other processes than the one that received it, when it has expired, and in a turn that another person's
   * answer began.
   */
  readonly askerToken?: string | undefined;
  /**
   * Aborts when the task is canceled, when its time is over, and when the host stops. Time that passes while a question is
   * open does not count. Pass it to everything that waits.
   */
  signal: AbortSignal;
  /** Use this instead of `fetch`: the sender chose the address, and this process can reach services that the sender cannot. */
  readAttachment: ReadAttachment;
  conversation: AgentConversation;
  trace: Trace;
  log: Log;
};

/**
 * The updates that an agent yields. The last one is an `answer`, a `question` or a `failure`. If the agent throws or ends without one
 * of them, the task fails with `execution_failed`. Each progress replaces the previous one. `partial` is the whole answer as
 * written so far, and stays until the next `partial`; its first 12,000 characters are shown. `steps` are all steps of the work, at most 50,
 * each with an id, a title and a status; they stay until the next `steps`.
 *
 * A `question` ends the run. When the answer arrives, perhaps hours later and in another process, the agent is called again
 * with the same task and with `task.answers`. A prompt has 1 to 10,000 characters. A question has up to 20 options, each with
 * an id of 1 to 128 and a label of 1 to 200 characters. Instead of options it may have up to 20 `fields`, which a person fills in; the
 * host checks the values before the agent sees them. A person may still answer with a text, and then there are no values. Other questions
 * are invalid updates. `kind: "auth"` asks for credentials, which the user gives elsewhere. Its `url` is where the person who asked signs
 * in: nobody else gets it, and it must be in no other text. `state` is any JSON of up to 64 KiB that the agent needs to go on; it comes
 * back with the answer, and nobody else sees it.
 *
 * `answerers` says who may answer, of those whom the operator lets answer. With `approvals`, so many different people must choose the same
 * option; one person alone chooses an option of the style `danger`. The agent must not act on an answer that it did not wait for: check
 * `approved_by` and `user_id` where it matters.
 *
 * A failure with `lost` says that nobody knows what was done, such as after a call of another service that broke off. The person who asked
 * reads that the task may have run.
 *
 * For a `direct` answer, an A2A client that still waits gets a message instead of a task.
 */
export type TaskUpdate =
  | {
      type: "progress";
      text?: string;
      percent?: number;
      partial?: string;
      steps?: readonly TaskStep[];
    }
  | { type: "artifact"; artifact: Artifact }
  | { type: "answer"; text: string; usage?: Record<string, unknown>; direct?: boolean }
  | {
      type: "question";
      prompt: string;
      options?: readonly QuestionOption[];
      fields?: readonly QuestionField[];
      kind?: "auth";
      url?: string;
      answerers?: Answerers;
      approvals?: number;
      state?: unknown;
    }
  | {
      type: "failure";
      reason: "execution_failed" | "plan_error" | "budget_exceeded";
      lost?: boolean;
    };

/**
 * The vote of a person on an answer. `voterId` is the same for all votes of one person and says nothing else about them: of several votes
 * of one person on one task the latest counts. The ids are those of the run that gave the answer.
 */
export type AgentVote = Readonly<{
  vote: Vote;
  voterId: string;
  requestId: string;
  taskId: string;
  caller: string;
  /** The name of the agent that gave the answer. Undefined for the host's main agent. */
  agent?: string | undefined;
}>;

/**
 * An agent is an async generator of updates, or an async function that returns the text of its answer. `feedback` gets the votes of people
 * on the answers. An agent file exports it under that name, beside `agent`. It may be called more than once for one vote, and in another
 * process than the run. If it throws or takes longer than ten seconds, it is called again later.
 */
export type Agent = ((
  task: AgentTask,
  context: AgentContext,
) => AsyncIterable<TaskUpdate> | Promise<string>) & {
  feedback?: ((vote: AgentVote) => unknown) | undefined;
};

/** The agent of a file, with the function `feedback` of that file, if it exports one. */
export function withFeedback(agent: Agent, feedback: unknown): Agent {
  if (typeof feedback !== "function") return agent;
  const run: Agent = (task, context) => agent(task, context);
  return Object.assign(run, { feedback: (vote: AgentVote) => feedback(vote) });
}

/** An agent returned something that is neither a text nor a generator. */
export class AgentResultError extends Error {
  readonly returned: unknown;

  constructor(returnedValue: unknown) {
    super("neither a text nor a generator");
    this.name = "AgentResultError";
    this.returned = returnedValue;
  }
}

/**
 * Calls the agent and returns its updates. A returned text is one update, the answer. Nothing checks the updates here, whatever their type
 * says. Throws what the agent throws. Reading the updates throws it as well, or an AgentResultError.
 */
export function runAgent(
  ...[agent, task, context]: [Agent, AgentTask, AgentContext]
): AsyncGenerator<TaskUpdate> {
  // A file of JavaScript may return anything.
  const agentResult: unknown = agent(task, context);
  // Another generator around this one would cost each update and the end several promises.
  return isAsyncGenerator(agentResult) ? agentResult : readUpdates(agentResult);
}

async function* readUpdates(agentResult: unknown): AsyncGenerator<TaskUpdate> {
  const resolvedResult = isGenerator(agentResult) ? agentResult : await agentResult;
  if (typeof resolvedResult === "string") yield { type: "answer", text: resolvedResult };
  else if (isGenerator(resolvedResult)) yield* resolvedResult;
  else throw new AgentResultError(resolvedResult);
}

/** The prototype of all objects that async generator functions return. */
const asyncGeneratorPrototype: object = Object.getPrototypeOf(async function* () {}).prototype;

function isAsyncGenerator(value: unknown): value is AsyncGenerator<TaskUpdate> {
  return Object.prototype.isPrototypeOf.call(asyncGeneratorPrototype, Object(value));
}

/** True also for a generator that is not async, and for an object that only has the method of an async one. */
function isGenerator(value: unknown): value is AsyncIterable<TaskUpdate> {
  if (typeof value !== "object" || value === null) return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && "next" in value);
}
