/** The worker: takes one queue message and moves one task one step (docs/explanation/architecture.md, "The path of one message"). */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isNewerRecord } from "@sekisho/runtime/engine/record-version.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  deletedTask,
  findLateFiles,
  isLateFiles,
  takesEffect,
  withLateFiles,
} from "../task/edited.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type { TaskEvent } from "../task/events.ts";
import {
  type AskMessage,
  isInteraction,
  isNewerMessage,
  isSuperseded,
  type MessageChange,
  parseQueueMessage,
  type QueueMessage,
  type TaskMessage,
  toWakeSeq,
  type UserMessage,
} from "../task/messages.ts";
import { isTooOld } from "../task/step.ts";
import { queueGroupOf, receivedTask, type Task } from "../task/task.ts";
import { createHandleCompletion } from "./completion.ts";
import { createHandleDeadLetter } from "./dead-letter.ts";
import { createLease, deferUntilLeaseEnds, type Lease, soonAgainMs } from "./held-lease.ts";
import { leaveMessage } from "./newer-version.ts";
import { type RunAct, runStep, type WorkerOptions } from "./run-step.ts";

type Incoming = { body: string; signal?: AbortSignal };

export type Worker = {
  /**
   * Resolves when the message is handled and may be removed. Rejects if it must be delivered again. `signal` ends the running act, whose
   * effect the next wake-up finds out.
   */
  handle(request: Incoming): Promise<void>;
  /**
   * Handles a message that the queue gave up on: fails its task, or tries it again later. Calls `keep` before any change if an operator
   * should get the message, even an unparsable one. Rejects if the message must be delivered again, so `keep` may be called twice.
   */
  deadLetter(request: Incoming & { keep?: () => Promise<void> }): Promise<void>;
  /** Handles a message of the completion queue. Rejects if the store is unavailable. The message may then be dropped, since polls suffice. */
  completion(request: Incoming): Promise<void>;
};

export function createWorker(options: WorkerOptions): Worker {
  const { log } = options;
  const { runAct: _runAct, ...actless } = options;
  return {
    async handle({ body, signal }) {
      const message = parseQueueMessage(body);
      if (message === undefined) {
        if (isNewerMessage(body) && (await leaveMessage(options, { body }))) return;
        // It becomes a dead letter, which an operator sees.
        log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
        throw new SekishoError("invalid_request");
      }
      await handleKnown(options, message, signal).catch(async (thrown: unknown) => {
        if (isNewerRecord(thrown) && (await leaveMessage(options, { body, thrown }))) return;
        throw thrown;
      });
    },
    deadLetter: createHandleDeadLetter(actless),
    completion: createHandleCompletion(options),
  };
}

async function handleKnown(
  options: WorkerOptions,
  message: QueueMessage,
  signal: AbortSignal | undefined,
) {
  const stop = signal ?? AbortSignal.timeout(options.leaseMs);
  if (isInteraction(message))
    return options.handleInteraction({ interaction: message, signal: stop });
  if (message.type === "vote_given") return options.passVote({ given: message, signal: stop });
  await handleMessage(options, message, signal);
}

async function handleMessage(
  options: WorkerOptions,
  received: TaskMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { store, queue, runAct, now = Date.now } = options;
  const asks = await readAsk(options, received);
  if (asks?.message.unaddressed && !(await isOfTask(options, asks))) {
    const known = await options.isKnownThread({ message: asks.message });
    // If the message may mention the bot, Slack's `app_mention` event should be handled first.
    const isEarly = asks.message.perhapsAddressed === true && asks.looks === undefined;
    if (known !== "known" || isEarly)
      return lookAgain(options, { message: asks, isUndecided: known === "undecided" });
  }
  const isIgnored = asks !== undefined && (await isFromIgnored(options, asks, signal));
  const created = asks !== undefined && !isIgnored ? await createTask(options, asks) : undefined;
  if (created?.state === "done") return;
  // A message whose worker died after it had created the record is found, whoever wrote it.
  const task = created ?? (await store.get({ id: received.requestId }));
  if (task === undefined) return reportNoTask(options, { message: received, isIgnored });
  const message =
    (created === undefined && received.type === "ask" && findLateFiles(task, received)) || received;
  const log = options.log.with({ request_id: task.id, trace_id: readTraceId(task.trace) });
  const seq = toWakeSeq({ message, task });
  // With the lease of a worker that died, this may be the message that it handled, and the only wake-up for a long time.
  const isLate = created === undefined && isTooLate({ message, task });
  const isDropped =
    isSuperseded({ message, task }) || (isLate && message.type !== "message_change" && !task.lease);
  if (isDropped) return log.debug("wake_up_dropped", { seq });

  const nowMs = now();
  const group = queueGroupOf(task);
  if (created === undefined && task.lease !== undefined && task.lease.untilMs > nowMs) {
    const stop = signal ?? AbortSignal.timeout(options.leaseMs);
    if (message.type === "cancel") await cancelUnderWay(runAct, task, stop);
    if (message.type === "message_change" && isLateFiles(message) && !isLate) {
      return addLateFiles(options, { task, lease: task.lease, change: message, nowMs });
    }
    // The change of a message that is too late to take effect is still to be told.
    const isIdle = isLate && message.type !== "message_change";
    const copy = deferUntilLeaseEnds({ message, task, lease: task.lease, isLate: isIdle, nowMs });
    await queue.send({ ...copy, group });
    return log.debug("lease_held", { seq, delay_ms: copy.delayMs });
  }
  if (isLate && message.type === "message_change" && task.lease === undefined) {
    const stop = signal ?? AbortSignal.timeout(options.leaseMs);
    if (await options.noticeLateChange({ task, change: message, signal: stop })) return;
    return queue.send({ body: encodeQueueMessage(message), delayMs: soonAgainMs, group });
  }
  const resumed = created === undefined && task.lease !== undefined;
  const isWake = message.type === "wake";
  const event = isLate
    ? { type: "woken" as const, nowMs, resumed }
    : toEvent({ message, created, nowMs, resumed });
  // A copy of a wake-up, and one of a completion push, claim the lease first, so that of many with one number one is worked at.
  const mayLook = isWake && message.early === undefined && !resumed;
  const policy = { ...options.policy, zoneSecret: await options.zoneSecret() };
  const begun = { task, lease: created?.lease, event, seq, mayLook, nowMs, signal };
  const isDone = await runStep({ ...options, policy }, begun);
  // It took the place of a wake-up whose worker had died, and is still to be told.
  const isOwed = isDone && isLate && message.type === "message_change";
  if (isDone && !isOwed) return;
  // Another worker was first. The message is handled again with the record that the other one saved.
  await queue.send({ body: encodeQueueMessage(message), delayMs: soonAgainMs, group });
  if (!isDone) log.debug("claim_lost", { seq });
}

/**
 * Adds late files to the record under the lease of another worker, which is about to send the task and takes them over when it saves its
 * next step (`run-step.ts`). A worker of an older version takes its lease as lost then, so the message comes again at the end of the lease.
 */
async function addLateFiles(
  { store, queue }: WorkerOptions,
  request: { task: Task; lease: Lease; change: MessageChange; nowMs: number },
): Promise<void> {
  const { task, lease, change, nowMs } = request;
  const added = await store.replace({ item: withLateFiles(task, change.message.files) });
  const delayMs = added === undefined ? soonAgainMs : lease.untilMs - nowMs + soonAgainMs;
  await queue.send({ body: encodeQueueMessage(change), delayMs, group: queueGroupOf(task) });
}

/** True if the message may bring files to a task that its `app_mention` has begun (Slack Connect). */
async function isOfTask(
  { store }: WorkerOptions,
  { requestId, message }: AskMessage | MessageChange,
): Promise<boolean> {
  if (!message.perhapsAddressed || message.files === undefined) return false;
  return (await store.get({ id: requestId })) !== undefined;
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

function toEvent(received: {
  message: TaskMessage;
  created: Task | undefined;
  nowMs: number;
  resumed: boolean;
}): TaskEvent {
  const { message, created, ...at } = received;
  switch (message.type) {
    case "message_change":
      if (message.isDeleted) return { type: "message_deleted", ...at };
      // A new record has the new text already.
      return created === undefined
        ? { type: "message_edited", message: message.message, ...at }
        : { type: "woken", ...at };
    case "cancel":
      return { type: "cancel_asked", ...at };
    case "redrive":
      return { type: "redriven", ...at };
    case "wake":
      return { type: "woken", ...at, polls: message.polls };
    default:
      return { type: "woken", ...at };
  }
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

async function lookAgain(
  { queue, log }: WorkerOptions,
  { message, isUndecided }: { message: AskMessage | MessageChange; isUndecided: boolean },
): Promise<void> {
  const { looks = 0, type } = message;
  const { perhapsAddressed, files, threadTs } = message.message;
  const mayComplete = type === "ask" && perhapsAddressed === true && files !== undefined;
  const afterMs = mayComplete
    ? lookForTaskAfterMs[threadTs === undefined ? "first" : "reply"]
    : lookAgainAfterMs;
  // While the message that asked the bot is undecided, this one waits for it.
  const delayMs = afterMs[looks] ?? (isUndecided ? afterMs.at(-1) : undefined);
  if (delayMs === undefined) return log.debug("reply_dropped", { request_id: message.requestId });
  const body = encodeQueueMessage({ ...message, looks: looks + 1 });
  await queue.send({ body, delayMs, group: message.message.team });
}

/** True if the message comes too late to change anything by itself. */
function isTooLate({ message, task }: { message: TaskMessage; task: Task }): boolean {
  if (message.type === "thread_free") return task.state !== "queued" && task.state !== "received";
  if (message.type === "message_change") return !takesEffect(task, message);
  return message.type === "cancel" && (task.state === "delivering" || task.state === "done");
}

/**
 * Asks the host at once to cancel a task that another worker acts on. That worker's call then returns early. The message comes again all
 * the same, because the call may have been answered before, and the next one may be minutes away.
 */
async function cancelUnderWay(runAct: RunAct, task: Task, signal: AbortSignal): Promise<void> {
  if (task.state !== "sent" && task.state !== "waiting") return;
  await runAct({ act: { type: "cancel" }, task: { ...task, cancelReason: "asked" }, signal });
}
