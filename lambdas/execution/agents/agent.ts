/** The agent seam: the user's code that does one task. An agent file exports a function `agent` of this type. */
import type { Artifact, ExecuteTaskParams } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import type { Trace } from "../../shared/trace.ts";

/** The request as the host validated it; `bot_token` is there only if the sender's destination forwards it. */
export type AgentTask = Readonly<ExecuteTaskParams>;

type Attachment = NonNullable<AgentTask["attachments"]>[number];

/**
 * The bytes of an attachment, held against its `sha256` where it has one. Only https and public addresses are read, no
 * redirect is followed, and more than `maxBytes` (16 MiB where not given) or a minute is too much. Rejects with a SekishoError:
 * `permission_denied` (such an address is not read), `payload_too_large`, `invalid_response` (another status, other bytes),
 * `unavailable` (may work another time), or as the signal says.
 */
export type ReadAttachment = (request: {
  attachment: Pick<Attachment, "url" | "sha256">;
  maxBytes?: number;
}) => Promise<Uint8Array>;

export type AgentContext = {
  /** The id of the `execute_task` request: the same for every repetition. */
  requestId: string;
  taskId: string;
  /** Aborts on cancel, on the task's deadline and when the host stops. Pass it on to everything that waits. */
  signal: AbortSignal;
  /** Use it instead of `fetch`: the sender chose the address, and this process can reach what the sender cannot. */
  readAttachment: ReadAttachment;
  trace: Trace;
  log: Log;
};

/**
 * What an agent yields. It ends with one `answer` or one `failure`; a thrown error is `execution_failed`,
 * ending without either is too. Progress may come any number of times and replaces the last one.
 */
export type TaskUpdate =
  | { type: "progress"; text?: string; percent?: number }
  | { type: "artifact"; artifact: Artifact }
  | { type: "answer"; text: string; usage?: Record<string, unknown> }
  | { type: "failure"; reason: "execution_failed" | "plan_error" | "budget_exceeded" };

export type Agent = (task: AgentTask, context: AgentContext) => AsyncIterable<TaskUpdate>;
