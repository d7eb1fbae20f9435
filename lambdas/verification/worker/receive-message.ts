/** Finds the task of a queue message, or creates its record if the message asks the bot something and there is none yet. */
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { deletedTask, findLateFiles } from "../task/edited.ts";
import type { AskMessage, MessageChange, TaskMessage, UserMessage } from "../task/messages.ts";
import { queueGroupOf, receivedTask, type Task } from "../task/task.ts";
import { isTooOld } from "../task/time-limits.ts";
import { createLease, type Redelivery } from "./held-lease.ts";
import type { WorkerOptions } from "./run-step.ts";

/** `group` is the one of the queue in which the message is sent again. */
export type Arrival =
  /** `isNew`: this worker has created the record, with its own lease. */
  | { type: "task"; message: TaskMessage; task: Task; isNew: boolean; group: string }
  /** The thread of the message may turn out to be one of the bot's. */
  | ({ type: "undecided"; group: string } & Redelivery)
  /** The message is dropped. */
  | { type: "no_task" };

export async function receiveMessage(
  options: WorkerOptions,
  message: TaskMessage,
  signal: AbortSignal | undefined,
): Promise<Arrival> {
  const ask = await readAsk(options, message);
  const lookAgain = ask && (await findLookAgain(options, ask));
  return lookAgain ?? loadTask(options, { message, ask }, signal);
}

async function loadTask(
  options: WorkerOptions,
  { message, ask }: { message: TaskMessage; ask: AskMessage | MessageChange | undefined },
  signal: AbortSignal | undefined,
): Promise<Arrival> {
  const isIgnored = ask !== undefined && (await isFromIgnored(options, ask, signal));
  const created = ask === undefined || isIgnored ? undefined : await createTask(options, ask);
  // The record of a deleted message is final at once.
  if (created?.state === "done") return { type: "no_task" };
  // A message whose worker died after it had created the record is found, whoever wrote it.
  const task = created ?? (await options.store.get({ id: message.requestId }));
  if (task === undefined) {
    reportNoTask(options, { message, isIgnored });
    return { type: "no_task" };
  }
  const isNew = created !== undefined;
  const lateFiles = !isNew && message.type === "ask" ? findLateFiles(task, message) : undefined;
  return { type: "task", message: lateFiles ?? message, task, isNew, group: queueGroupOf(task) };
}

/** The message as one that begins a task if there is none yet. A change of a message does that only while there is no record of it. */
async function readAsk(
  { store, now = Date.now }: WorkerOptions,
  message: TaskMessage,
): Promise<AskMessage | MessageChange | undefined> {
  if (message.type === "ask") return message;
  if (message.type !== "message_change") return undefined;
  const { requestId, receivedAtMs } = message;
  // The record of an older message may have expired, and an older message without one is left alone.
  if (isTooOld({ ts: message.message.ts, receivedAtMs, nowMs: now() })) return undefined;
  return (await store.get({ id: requestId })) === undefined ? message : undefined;
}

/** A message without a mention is for the bot only in a thread in which the bot was asked. Resolves to undefined if it is for the bot. */
async function findLookAgain(
  options: WorkerOptions,
  ask: AskMessage | MessageChange,
): Promise<Arrival | undefined> {
  if (!ask.message.unaddressed || (await isOfTask(options, ask))) return undefined;
  const thread = await options.isKnownThread({ message: ask.message });
  // If the message may mention the bot, Slack's `app_mention` event should be handled first.
  const isEarly = ask.message.perhapsAddressed === true && ask.looks === undefined;
  if (thread === "known" && !isEarly) return undefined;
  const delayMs = toLookDelayMs(ask, { isUndecided: thread === "undecided" });
  if (delayMs !== undefined) {
    const message = { ...ask, looks: (ask.looks ?? 0) + 1 };
    return { type: "undecided", message, delayMs, group: ask.message.team };
  }
  options.log.debug("reply_dropped", { request_id: ask.requestId });
  return { type: "no_task" };
}

/** True if the message may bring files to a task that its `app_mention` has begun (Slack Connect). */
async function isOfTask(
  { store }: WorkerOptions,
  { requestId, message }: AskMessage | MessageChange,
): Promise<boolean> {
  if (!message.perhapsAddressed || message.files === undefined) return false;
  return (await store.get({ id: requestId })) !== undefined;
}

/**
 * The delays before the thread of a message without a mention is looked up again. Such a message is for the bot only if the bot was
 * asked before in the thread, and the message that asked may be handled later than this one, up to half an hour later if it was retried.
 * Messages between people cost a few look-ups and leave no record.
 */
const lookAgainAfterMs = [30_000, 120_000, 480_000, 1_800_000];

/**
 * The same for a message with files that may mention the bot's user of another workspace. Slack tells of it as `app_mention` at about the
 * same time, and that task should not be sent before it has the files. One that begins a thread is for the bot only if there is that task.
 */
const lookForTaskAfterMs = { reply: [500, ...lookAgainAfterMs], first: [500, 30_000] };

function toLookDelayMs(
  { looks = 0, type, message: { perhapsAddressed, files, threadTs } }: AskMessage | MessageChange,
  { isUndecided }: { isUndecided: boolean },
): number | undefined {
  const mayComplete = type === "ask" && perhapsAddressed === true && files !== undefined;
  const afterMs = mayComplete
    ? lookForTaskAfterMs[threadTs === undefined ? "first" : "reply"]
    : lookAgainAfterMs;
  // While the message that asked the bot is undecided, this one waits for it.
  return afterMs[looks] ?? (isUndecided ? afterMs.at(-1) : undefined);
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
 * wins. The record of a deleted message is final at once. Resolves to undefined if there is a record already.
 */
async function createTask(
  options: WorkerOptions,
  message: AskMessage | MessageChange,
): Promise<Task | undefined> {
  const { store, log, zoneSecret, now = Date.now } = options;
  // Read before the lease begins, because a step without it would hold the lease in vain.
  await zoneSecret();
  const isDeleted = message.type === "message_change" && message.isDeleted;
  const item = isDeleted
    ? deletedTask(message)
    : { ...receivedTask(message), lease: createLease(options, now()) };
  const created = await store.create({ item });
  if (created === undefined) return undefined;
  log.info("task_created", { request_id: created.id, trace_id: readTraceId(created.trace) });
  return created;
}

/** A message of somebody who may not ask is dropped before a record is created, so that it costs one read. */
function reportNoTask(
  { log, telemetry }: WorkerOptions,
  { message, isIgnored }: { message: TaskMessage; isIgnored: boolean },
): void {
  const { requestId, type } = message;
  if (type === "message_change" && !isIgnored) {
    log.debug("change_dropped", { request_id: requestId });
  } else if ((type !== "ask" && type !== "message_change") || !isIgnored) {
    log.warn("message_without_task", { request_id: requestId, event: type });
  } else if (!message.message.unaddressed) {
    const { team, user } = message.message;
    log.info("message_ignored", { request_id: requestId, team, user, reason: "not_allowed" });
    telemetry?.metrics.add("sekisho_refusals_total", { kind: "not_allowed" });
  }
}
