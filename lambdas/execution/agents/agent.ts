/** The agent seam: the user's code that does one task. An agent file exports a function `agent` of this type. */
import type { Part } from "../../../contracts/a2a/part.ts";
import type { Artifact, ExecuteTaskParams, QuestionOption } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import type { Trace } from "../../shared/telemetry/telemetry.ts";

/** What the user said to a question of the agent: the option's id, words, or both. `parts` are those of an A2A message. */
export type AgentAnswer = Readonly<{
  prompt: string;
  text: string;
  option_id?: string | undefined;
  user_id?: string | undefined;
  parts?: readonly Part[] | undefined;
}>;

/**
 * The request as the host validated it. `channel` is absent where no Slack message stands behind it (a client that speaks
 * A2A); `bot_token` is there only if the sender's destination forwards it.
 */
export type AgentTask = Readonly<
  Omit<ExecuteTaskParams, "channel" | "session_id"> & {
    channel?: string | undefined;
    /** The request part by part: its text, and its files and data. Of a Slack message the text and the attachments. */
    parts: readonly Part[];
    /** What was asked and answered in this task so far; the agent is called anew after each answer. */
    answers: readonly AgentAnswer[];
  }
>;

type Attachment = NonNullable<AgentTask["attachments"]>[number];

/**
 * The bytes of an attachment, held against its `sha256` where it has one. Only https and public addresses are read (on one
 * machine also what its Verification zone keeps), no redirect is followed, and more than `maxBytes` (16 MiB where not given) or a minute is too much. Rejects with a SekishoError:
 * `permission_denied` (such an address is not read), `payload_too_large`, `invalid_response` (another status, other bytes),
 * `unavailable` (may work another time), or as the signal says.
 */
export type ReadAttachment = (request: {
  attachment: Pick<Attachment, "url" | "sha256">;
  maxBytes?: number;
}) => Promise<Uint8Array>;

export type AgentContext = {
  /** The id of the `execute_task` request, or of the A2A message, that began the task: the same for every repetition. */
  requestId: string;
  taskId: string;
  /** Of the message that this turn answers: the request's own id, or that of the latest answer. */
  messageId: string;
  /**
   * The same for all messages of one conversation of one caller; undefined where the caller names none. Made of the caller and its
   * session id or A2A context id: two callers that send the same one get different ids.
   */
  contextId: string | undefined;
  /** An opaque id of the caller: the same for every task of one authenticated caller. */
  caller: string;
  /**
   * Aborts on cancel, when the task's time is over (of which none passes while it waits for an answer), and when the host stops.
   * Pass it on to everything that waits.
   */
  signal: AbortSignal;
  /** Use it instead of `fetch`: the sender chose the address, and this process can reach what the sender cannot. */
  readAttachment: ReadAttachment;
  trace: Trace;
  log: Log;
};

/**
 * What an agent yields. It ends with one `answer`, one `question` or one `failure`; a thrown error is `execution_failed`,
 * ending without any is too. Progress may come any number of times and replaces the last one. `partial` is the answer as far as
 * it is written, all of it each time; it stays until another one comes, and of it the first 12,000 characters are told.
 *
 * After a `question` the run is over and holds nothing: with the answer, minutes or hours later and perhaps in another
 * process, the agent is called again with the same task and `task.answers`; none of its time has passed meanwhile. A prompt has
 * 1 to 10,000 characters, and a question up to 20 options, each with an id of 1 to 128 and a label of 1 to 200 characters: another
 * one is no update. `kind: "auth"` says that what is missing are credentials, which the user gives elsewhere.
 *
 * A `direct` answer makes no task for an A2A client that still waits for it.
 */
export type TaskUpdate =
  | { type: "progress"; text?: string; percent?: number; partial?: string }
  | { type: "artifact"; artifact: Artifact }
  | { type: "answer"; text: string; usage?: Record<string, unknown>; direct?: boolean }
  | { type: "question"; prompt: string; options?: readonly QuestionOption[]; kind?: "auth" }
  | { type: "failure"; reason: "execution_failed" | "plan_error" | "budget_exceeded" };

export type Agent = (task: AgentTask, context: AgentContext) => AsyncIterable<TaskUpdate>;
