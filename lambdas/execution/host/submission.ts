/** A task as it is asked for, whatever protocol brought it, and the first record that is made of it; pure. */
import type { Message } from "../../../contracts/a2a/part.ts";
import type { RequestId } from "../../../contracts/envelope.ts";
import type { Trace } from "../../shared/trace.ts";
import { withMessages } from "./conversation.ts";
import type { ExecutionTask, StoredPushConfig, TaskInput } from "./execution-task.ts";
import { checkSize } from "./record-size.ts";

export type Submission = {
  principal: string;
  /** The same for every repetition; undefined where repetitions are not known as such. */
  taskId: string | undefined;
  /** Of the request or the message that begins the task. */
  requestId: RequestId;
  /** Of what a repetition must say as well. */
  fingerprint: string;
  input: TaskInput;
  /** Handed to the agent and kept nowhere. */
  botToken?: string | undefined;
  trace: Trace;
  receivedAtMs: number;
  /** Where it came over A2A. */
  a2a?: { contextId: string; message: Message; pushConfigs: StoredPushConfig[] | undefined };
};

/** The contract's longest correlation id; an A2A message's may be longer. */
const maxCorrelationIdLength = 128;

/**
 * The deadline counts from the receipt, since the clocks of the zones may differ. Throws `payload_too_large` for a message of
 * A2A that no record holds: its text and its files are in there twice.
 */
export function newTask({
  submission: { principal, taskId, requestId, fingerprint, input, trace, receivedAtMs, a2a },
  maxTaskMs,
  retentionMs,
  newId,
}: {
  submission: Submission;
  maxTaskMs: number;
  retentionMs: number;
  newId: () => string;
}): ExecutionTask {
  const deadlineAtMs = receivedAtMs + Math.min(input.timeout_ms ?? maxTaskMs, maxTaskMs);
  const id = taskId ?? newId();
  const requestName = String(requestId);
  const task: ExecutionTask = {
    id,
    revision: 1,
    state: "submitted",
    principal,
    requestId,
    correlationId: input.correlation_id ?? (requestName.length > maxCorrelationIdLength ? id : requestName),
    fingerprint,
    trace,
    createdAtMs: receivedAtMs,
    changedAtMs: receivedAtMs,
    deadlineAtMs,
    expiresAtMs: deadlineAtMs + retentionMs,
    ...(input.callback === true && { callback: true as const }),
    params: input,
  };
  if (a2a === undefined) return task;
  const { contextId, message, pushConfigs } = a2a;
  const own = { contextId, messages: [], ...(pushConfigs && { pushConfigs }) };
  return checkSize(withMessages({ task: { ...task, listedAtMs: receivedAtMs, a2a: own }, messages: [message] }));
}
