/** The worker: takes one queue message and moves one task one step (docs/architecture.md, "The way of one message"). */
import { SekishoError } from "../../../contracts/errors.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";
import type { TaskEvent } from "../task/events.ts";
import {
  type AskMessage,
  isInteraction,
  isSuperseded,
  parseQueueMessage,
  type TaskMessage,
  toWakeSeq,
} from "../task/messages.ts";
import { queueGroupOf, receivedTask, type Task } from "../task/task.ts";
import { createHandleCompletion } from "./completion.ts";
import { createHandleDeadLetter } from "./dead-letter.ts";
import { createLease, deferUntilLeaseEnds, soonAgainMs } from "./held-lease.ts";
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
        // Another version may have sent the message. It becomes a dead letter, which an operator sees.
        log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
        throw new SekishoError("invalid_request");
      }
      const stop = signal ?? AbortSignal.timeout(options.leaseMs);
      if (isInteraction(message)) return options.handleInteraction({ interaction: message, signal: stop });
      await handleMessage(options, message, signal);
    },
    deadLetter: createHandleDeadLetter(actless),
    completion: createHandleCompletion(options),
  };
}

async function handleMessage(
  options: WorkerOptions,
  message: TaskMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { store, queue, runAct, now = Date.now } = options;
  if (message.type === "ask" && message.message.unaddressed) {
    const known = await options.isKnownThread({ message: message.message });
    // If the message may mention the bot, Slack's `app_mention` event should be handled first.
    const isEarly = message.message.perhapsAddressed === true && message.looks === undefined;
    if (known !== "known" || isEarly) return lookAgain(options, { message, isUndecided: known === "undecided" });
  }
  const isIgnored = message.type === "ask" && (await isFromIgnored(options, message, signal));
  const created = message.type === "ask" && !isIgnored ? await createTask(options, message) : undefined;
  // A message whose worker died after it had created the record is found, whoever wrote it.
  const task = created ?? (await store.get({ id: message.requestId }));
  if (task === undefined) return reportNoTask(options, { message, isIgnored });
  const log = options.log.with({ request_id: task.id, trace_id: readTraceId(task.trace) });
  const seq = toWakeSeq({ message, task });
  // With the lease of a worker that died, this may be the message that it handled, and the only wake-up for a long time.
  const isLate = isTooLate({ message, task });
  const isDropped = isSuperseded({ message, task }) || (isLate && task.lease === undefined);
  if (isDropped) return log.debug("wake_up_dropped", { seq });

  const nowMs = now();
  const group = queueGroupOf(task);
  if (created === undefined && task.lease !== undefined && task.lease.untilMs > nowMs) {
    const stop = signal ?? AbortSignal.timeout(options.leaseMs);
    if (message.type === "cancel") await cancelUnderWay(runAct, task, stop);
    const copy = deferUntilLeaseEnds({ message, task, lease: task.lease, isLate, nowMs });
    await queue.send({ ...copy, group });
    return log.debug("lease_held", { seq, delay_ms: copy.delayMs });
  }
  const resumed = created === undefined && task.lease !== undefined;
  const isWake = message.type === "wake";
  const type = isLate ? "woken" : eventTypes[message.type];
  const event: TaskEvent = { type, nowMs, resumed, ...(isWake && { polls: message.polls }) };
  // A copy of a wake-up, and one of a completion push, claim the lease first, so that of many with one number one is worked at.
  const mayLook = isWake && message.early === undefined && !resumed;
  const policy = { ...options.policy, zoneSecret: await options.zoneSecret() };
  const begun = { task, lease: created?.lease, event, seq, mayLook, nowMs, signal };
  if (await runStep({ ...options, policy }, begun)) return;
  // Another worker was first. The message is handled again with the record that the other one saved.
  await queue.send({ body: JSON.stringify(message), delayMs: soonAgainMs, group });
  log.debug("claim_lost", { seq });
}

function isFromIgnored(
  { isIgnored, leaseMs }: WorkerOptions,
  { requestId, message }: AskMessage,
  signal = AbortSignal.timeout(leaseMs),
): Promise<boolean> {
  return isIgnored({ message, requestId, signal });
}

/**
 * Creates the record with this worker's lease, so that a new task needs no claim. The create is conditional, so one delivery of the message
 * wins. Resolves to undefined if there is a record already.
 */
async function createTask(options: WorkerOptions, message: AskMessage): Promise<Task | undefined> {
  const { store, log, zoneSecret, now = Date.now } = options;
  // Read before the lease begins, because a step without it would hold the lease in vain.
  await zoneSecret();
  const created = await store.create({ item: { ...receivedTask(message), lease: createLease(options, now()) } });
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
  if (type !== "ask" || !isIgnored) {
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

async function lookAgain(
  { queue, log }: WorkerOptions,
  { message, isUndecided }: { message: AskMessage; isUndecided: boolean },
): Promise<void> {
  const { looks = 0 } = message;
  // While the message that asked the bot is undecided, this one waits for it.
  const delayMs = lookAgainAfterMs[looks] ?? (isUndecided ? lookAgainAfterMs.at(-1) : undefined);
  if (delayMs === undefined) return log.debug("reply_dropped", { request_id: message.requestId });
  const body = JSON.stringify({ ...message, looks: looks + 1 });
  await queue.send({ body, delayMs, group: message.message.team });
}

const eventTypes = {
  ask: "woken",
  wake: "woken",
  thread_free: "woken",
  redrive: "redriven",
  cancel: "cancel_asked",
} as const satisfies Record<TaskMessage["type"], TaskEvent["type"]>;

/** True if the message comes too late to change anything by itself. */
function isTooLate({ message, task }: { message: TaskMessage; task: Task }): boolean {
  if (message.type === "thread_free") return task.state !== "queued" && task.state !== "received";
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
