/** Turns a submission into the record of a new task. */
import type { Message } from "@sekisho/contracts/a2a/part.ts";
import type { RequestId } from "@sekisho/contracts/envelope.ts";
import type { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Trace } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { ReceivedAsker } from "../received-asker.ts";
import {
  addMessages,
  type ExecutionTask,
  type StoredPushConfig,
  type TaskInput,
} from "./execution-task.ts";
import { minDefaultTimeoutMs } from "./lifetime.ts";
import { checkSize } from "./record-size.ts";

export type Submission = {
  principal: string;
  /** The same for every repetition; undefined if repetitions cannot be recognized. */
  taskId: string | undefined;
  /** The id of the request or the A2A message that begins the task. */
  requestId: RequestId;
  /** Identifies the content, which a repetition must share. */
  fingerprint: string;
  input: TaskInput;
  /** Goes to the agent and is not stored. */
  botToken?: string | undefined;
  asker?: ReceivedAsker | undefined;
  trace: Trace;
  receivedAtMs: number;
  /** Why a new task is refused. An earlier request's task is still found. */
  refusal?: SekishoError;
  /** Present if the task came over A2A. */
  a2a?: { contextId: string; message: Message; pushConfigs: StoredPushConfig[] | undefined };
};

/** The contract's limit for a correlation id. An A2A message id may be longer. */
const maxCorrelationIdLength = 128;

/**
 * The deadline counts from the receipt, because the clocks of the zones may differ. A request without a timeout gets the rest of the
 * process's life (`leftMs`), but at least a quarter of an hour. Throws `payload_too_large` for an A2A message that does not fit into a
 * record, which holds its text and files twice.
 */
export function createExecutionTask(options: {
  submission: Submission;
  maxTaskMs: number;
  leftMs?: number;
  retentionMs: number;
  newId: () => string;
}): ExecutionTask {
  const { principal, taskId, requestId, fingerprint, input, asker, trace, receivedAtMs, a2a } =
    options.submission;
  const { maxTaskMs, leftMs = Number.POSITIVE_INFINITY, retentionMs, newId } = options;
  const deadlineAtMs =
    receivedAtMs + Math.min(input.timeout_ms ?? Math.max(leftMs, minDefaultTimeoutMs), maxTaskMs);
  const id = taskId ?? newId();
  const requestName = String(requestId);
  const task: ExecutionTask = {
    id,
    revision: 1,
    state: "submitted",
    principal,
    requestId,
    correlationId:
      input.correlation_id ?? (requestName.length > maxCorrelationIdLength ? id : requestName),
    fingerprint,
    trace,
    createdAtMs: receivedAtMs,
    changedAtMs: receivedAtMs,
    deadlineAtMs,
    expiresAtMs: deadlineAtMs + retentionMs,
    ...(input.agent !== undefined && { agent: input.agent }),
    ...(input.callback === true && { callback: true as const }),
    params: input,
    ...(asker && { asker: asker.person }),
  };
  if (a2a === undefined) return task;
  const { contextId, message, pushConfigs } = a2a;
  const a2aFields = { contextId, messages: [], ...(pushConfigs && { pushConfigs }) };
  return checkSize(
    addMessages({
      task: { ...task, listedAtMs: receivedAtMs, a2a: a2aFields },
      messages: [message],
    }),
  );
}
