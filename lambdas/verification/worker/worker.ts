/** The worker: takes one queue message and moves one task one step (docs/architecture.md, "The way of one message"). */
import { SekishoError } from "../../../contracts/errors.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";
import type { TaskEvent } from "../task/events.ts";
import { type AskMessage, parseQueueMessage, type TaskMessage, toWakeSeq } from "../task/messages.ts";
import { queueGroupOf, receivedTask, type Task } from "../task/task.ts";
import { createHandleCompletion } from "./completion.ts";
import { createHandleDeadLetter } from "./dead-letter.ts";
import { deferUntilLeaseEnds, type RunAct, runStep, soonAgainMs, type WorkerOptions } from "./run-step.ts";

type Incoming = { body: string; signal?: AbortSignal };

export type Worker = {
  /**
   * Resolves when the message is dealt with and may be removed; rejects when it must come again.
   * `signal` ends the act under way; what it may have done is then found out by the next wake-up.
   */
  handle(request: Incoming): Promise<void>;
  /**
   * For a message that the queue gave up on: the task fails in words, and what cannot fail is tried again later. `keep` is
   * called, before anything is changed, where the message is to be kept for an operator, which what is none of ours is too.
   * Rejects when the message must come again; it may then be kept twice.
   */
  deadLetter(request: Incoming & { keep?: () => Promise<void> }): Promise<void>;
  /** For a message of the completion queue. Rejects where the store is away; it may then be dropped as well, polling suffices. */
  completion(request: Incoming): Promise<void>;
};

export function createWorker(options: WorkerOptions): Worker {
  const { log } = options;
  const {
    runAct: _runAct,
    isKnownThread: _isKnownThread,
    isIgnored: _isIgnored,
    press: _press,
    greet: _greet,
    zoneSecret: _zoneSecret,
    ...actless
  } = options;
  const deadLetter = createHandleDeadLetter(actless);
  const handleCompletion = createHandleCompletion(options);
  return {
    async handle({ body, signal }) {
      const message = parseQueueMessage(body);
      if (message === undefined) {
        // Perhaps of a newer or older version of ours: it becomes a dead letter, which somebody sees.
        log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
        throw new SekishoError("invalid_request");
      }
      const stop = signal ?? AbortSignal.timeout(options.leaseMs);
      if (message.type === "press") return options.press({ press: message, signal: stop });
      if (message.type === "greet") return options.greet({ greet: message, signal: stop });
      await handleMessage(options, message, signal);
    },
    deadLetter,
    completion: ({ body, signal }) => handleCompletion({ body, signal }),
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
    // Slack's event of a mention is to come first, where this message may hold one.
    const isEarly = message.message.perhapsAddressed === true && message.looks === undefined;
    if (known !== "known" || isEarly) return lookAgain(options, { message, isUndecided: known === "undecided" });
  }
  const stored = await store.get({ id: message.requestId });
  if (stored === undefined && message.type === "ask" && (await isIgnored(options, message, signal))) return;
  const task = stored ?? (message.type === "ask" ? await claimMessage(options, message) : undefined);
  if (task === undefined) {
    return options.log.warn("message_without_task", { request_id: message.requestId, event: message.type });
  }
  const log = options.log.with({ request_id: task.id, trace_id: readTraceId(task.trace) });
  const seq = toWakeSeq({ message, task });
  if (seq < task.wakeSeq || isIdle({ message, task })) return log.debug("wake_up_dropped", { seq });

  const nowMs = now();
  const group = queueGroupOf(task);
  if (task.lease !== undefined && task.lease.untilMs > nowMs) {
    const stop = signal ?? AbortSignal.timeout(options.leaseMs);
    if (message.type === "cancel" && (await cancelUnderWay({ runAct, task, signal: stop }))) return;
    const copy = deferUntilLeaseEnds({ message, task, lease: task.lease, nowMs });
    await queue.send({ ...copy, group });
    return log.debug("lease_held", { seq, delay_ms: copy.delayMs });
  }
  const event: TaskEvent = { type: eventTypes[message.type], nowMs, resumed: task.lease !== undefined };
  const policy = { ...options.policy, zoneSecret: await options.zoneSecret() };
  if (await runStep({ ...options, policy }, { task, event, seq, nowMs, signal })) return;
  // Someone else was first: the message comes back to a record that says what is to do.
  await queue.send({ body: JSON.stringify(message), delayMs: soonAgainMs, group });
  log.debug("claim_lost", { seq });
}

/** Before there is a record: so messages of people who may not ask cost one read each, and no time of anybody else. */
async function isIgnored(
  { isIgnored: isIgnoredBy, leaseMs, log, telemetry }: WorkerOptions,
  { requestId, message }: AskMessage,
  signal = AbortSignal.timeout(leaseMs),
): Promise<boolean> {
  if (!(await isIgnoredBy({ message, requestId, signal }))) return false;
  if (message.unaddressed) return true;
  log.info("message_ignored", { request_id: requestId, team: message.team, user: message.user, reason: "not_allowed" });
  telemetry?.metrics.add("sekisho_refusals_total", { kind: "not_allowed" });
  return true;
}

/**
 * A message that does not mention the bot is for it in a thread in which the bot was asked before. The message that asked may come
 * later than this one: a moment later as a rule, half an hour later where its first tries failed. Messages between people cost a
 * few looks and leave no record.
 */
const lookAgainAfterMs = [30_000, 120_000, 480_000, 1_800_000];

async function lookAgain(
  { queue, log }: WorkerOptions,
  { message, isUndecided }: { message: AskMessage; isUndecided: boolean },
): Promise<void> {
  const { looks = 0 } = message;
  // As long as nobody knows what becomes of the message that asked the bot, this one waits for it.
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

/** What is none of the chain and comes too late to change anything. */
function isIdle({ message, task }: { message: TaskMessage; task: Task }): boolean {
  if (message.type === "thread_free") return task.state !== "queued" && task.state !== "received";
  return message.type === "cancel" && (task.state === "delivering" || task.state === "done");
}

/** The conditional create is the only claim of a message: of all its deliveries one makes the record. */
async function claimMessage({ store, log }: WorkerOptions, message: AskMessage) {
  const created = await store.create({ item: receivedTask(message) });
  if (created !== undefined)
    log.info("task_created", { request_id: message.requestId, trace_id: readTraceId(message.trace) });
  return created ?? (await store.get({ id: message.requestId }));
}

/**
 * The wish to cancel a task that a worker is acting on: the host is asked at once, and the call under way brings home what comes of
 * it. Whether the wish has reached the host. Where nothing was sent yet, or the host cannot be asked, it has not.
 */
async function cancelUnderWay({
  runAct,
  task,
  signal,
}: {
  runAct: RunAct;
  task: Task;
  signal: AbortSignal;
}): Promise<boolean> {
  if (task.state !== "sent" && task.state !== "waiting") return false;
  const event = await runAct({ act: { type: "cancel" }, task: { ...task, cancelReason: "asked" }, signal });
  return event.type === "canceled" || (event.type === "call_failed" && event.error.reason === "invalid_state");
}
