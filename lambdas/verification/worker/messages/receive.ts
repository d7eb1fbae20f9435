/** Finds the record of a message's task, or creates it with this worker's lease if the message asks the bot something. */
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { deletedTask, findLateFiles } from "../../task/edited.ts";
import type { AskMessage, MessageChange, TaskMessage, UserMessage } from "../../task/messages.ts";
import { receivedTask, type Task } from "../../task/task.ts";
import { isTooOld } from "../../task/time-limits.ts";
import { createLease } from "../step/lease.ts";
import type { Facts } from "./classify.ts";
import type { WorkerOptions } from "./worker-options.ts";

export async function receive(
  options: WorkerOptions,
  message: TaskMessage,
  signal: AbortSignal | undefined,
): Promise<Facts> {
  const { store, now = Date.now } = options;
  const task = mayHaveRecord(message) ? await store.get({ id: message.requestId }) : undefined;
  const nowMs = now();
  if (task !== undefined) return { type: "recorded", ...asLateFilesChange(message, task), nowMs };
  return beginsTask(message, nowMs)
    ? admit(options, message, signal)
    : { type: "unrecorded", message, nowMs };
}

/** Most messages that ask are new, and their record is created without a look for it. */
function mayHaveRecord(message: TaskMessage): boolean {
  if (message.type !== "ask") return true;
  // It may bring files to a task that its `app_mention` has begun (Slack Connect).
  const { unaddressed, perhapsAddressed, files } = message.message;
  return unaddressed === true && perhapsAddressed === true && files !== undefined;
}

/** A change of a message without a record begins a task too. The record of an older message may have expired, so that one is left alone. */
function beginsTask(message: TaskMessage, nowMs: number): message is AskMessage | MessageChange {
  if (message.type !== "message_change") return message.type === "ask";
  const { receivedAtMs } = message;
  return !isTooOld({ ts: message.message.ts, receivedAtMs, nowMs });
}

function asLateFilesChange(message: TaskMessage, task: Task): { message: TaskMessage; task: Task } {
  const lateFiles = message.type === "ask" ? findLateFiles(task, message) : undefined;
  return { message: lateFiles ?? message, task };
}

/** A message without a mention is for the bot only in a thread in which the bot was asked. */
async function admit(
  options: WorkerOptions,
  message: AskMessage | MessageChange,
  signal: AbortSignal | undefined,
): Promise<Facts> {
  const { store, isKnownThread, now = Date.now } = options;
  const { unaddressed, perhapsAddressed } = message.message;
  const thread = unaddressed ? await isKnownThread({ message: message.message }) : "known";
  // If the message may mention the bot, Slack's `app_mention` event should be handled first.
  const isEarly = unaddressed && perhapsAddressed && message.looks === undefined;
  if (thread !== "known" || isEarly) {
    const isUndecided = thread === "undecided";
    return { type: "unknown_thread", message, isUndecided, nowMs: now() };
  }
  const isIgnored = await isFromIgnored(options, message, signal);
  const created = isIgnored ? undefined : await createRecord(options, message);
  if (created !== undefined) return { ...created, message, nowMs: now() };
  // A message whose worker died after it had created the record is found, whoever wrote it.
  const task = await store.get({ id: message.requestId });
  return task === undefined
    ? { type: isIgnored ? "ignored" : "unrecorded", message, nowMs: now() }
    : { type: "recorded", ...asLateFilesChange(message, task), nowMs: now() };
}

/** A deletion asks for nothing, so nobody is refused because of it. */
function isFromIgnored(
  { isIgnored, leaseMs }: WorkerOptions,
  ask: AskMessage | MessageChange,
  signal = AbortSignal.timeout(leaseMs),
): Promise<boolean> {
  const { requestId } = ask;
  const isDeleted = ask.type === "message_change" && ask.isDeleted;
  const message: UserMessage = isDeleted ? { ...ask.message, unaddressed: true } : ask.message;
  return isIgnored({ message, requestId, signal });
}

/**
 * Creates the record with this worker's lease, so that a new task needs no claim. The create is conditional, so one delivery of the message
 * wins. Resolves to undefined if there is a record already.
 */
async function createRecord(options: WorkerOptions, message: AskMessage | MessageChange) {
  const { store, log, zoneSecret, now = Date.now } = options;
  // Read before the lease begins, because a step without it would hold the lease in vain.
  await zoneSecret();
  const lease = createLease(options, now());
  const isDeleted = message.type === "message_change" && message.isDeleted;
  const item = isDeleted ? deletedTask(message) : { ...receivedTask(message), lease };
  const task = await store.create({ item });
  if (task === undefined) return undefined;
  log.info("task_created", { request_id: task.id, trace_id: readTraceId(task.trace) });
  return isDeleted
    ? ({ type: "deleted" } as const)
    : ({ type: "created", task: { ...task, lease } } as const);
}
