/** The worker: takes one queue message and moves one task one step (architecture.md, "The way of one message", 2). */
import { SekishoError } from "../../../contracts/errors.ts";
import { queuedIds } from "../../shared/queued-ids.ts";
import { traceIdOf } from "../../shared/trace.ts";
import type { TaskEffect, TaskEvent } from "../task/events.ts";
import { type Ask, type QueueMessage, queueMessageSchema, seqOf, type TaskMessage } from "../task/messages.ts";
import { queueGroupOf, receivedTask, type Task } from "../task/task.ts";
import { cancelUnderWay } from "./cancel.ts";
import { handleCompletion } from "./completion.ts";
import { copyPastLease, soonAgainMs } from "./copies.ts";
import { handleDeadLetter } from "./dead-letter.ts";
import { runStep, type WorkerOptions } from "./run-step.ts";

/** What happened in one step, for whoever watches (the local page). */
export type Observation = { requestId: string; event: TaskEvent; task: Task; effects: TaskEffect[] };

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
  return {
    async handle({ body, signal }) {
      const message = parse(body);
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
    async deadLetter({ body, signal, keep = async () => {} }) {
      const message = parse(body);
      if (message === undefined) {
        log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
        options.telemetry?.metrics.add("sekisho_dead_letters_total", { message: "unknown" });
        return keep();
      }
      log.error("dead_letter", { ...queuedIds(body), event: message.type });
      options.telemetry?.metrics.add("sekisho_dead_letters_total", { message: message.type });
      return handleDeadLetter(options, { message, signal, keep });
    },
    completion: ({ body, signal }) => handleCompletion(options, { body, signal }),
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
  const task = stored ?? (message.type === "ask" ? await claimMessage(options, message) : undefined);
  if (task === undefined) {
    return options.log.warn("message_without_task", { request_id: message.requestId, event: message.type });
  }
  const log = options.log.with({ request_id: task.id, trace_id: traceIdOf(task.trace) });
  const seq = seqOf({ message, task });
  if (seq < task.wakeSeq || isIdle({ message, task })) return log.debug("wake_up_dropped", { seq });

  const nowMs = now();
  const group = queueGroupOf(task);
  if (task.lease !== undefined && task.lease.untilMs > nowMs) {
    const stop = signal ?? AbortSignal.timeout(options.leaseMs);
    if (message.type === "cancel" && (await cancelUnderWay({ runAct, task, signal: stop }))) return;
    const copy = copyPastLease({ message, task, lease: task.lease, nowMs });
    await queue.send({ ...copy, group });
    return log.debug("lease_held", { seq, delay_ms: copy.delayMs });
  }
  const event: TaskEvent = { type: eventTypes[message.type], nowMs, resumed: task.lease !== undefined };
  if (await runStep(options, { task, event, seq, nowMs, signal })) return;
  // Someone else was first: the message comes back to a record that says what is to do.
  await queue.send({ body: JSON.stringify(message), delayMs: soonAgainMs, group });
  log.debug("claim_lost", { seq });
}

/**
 * A message that does not mention the bot is for it in a thread in which the bot was asked before. The message that asked may come
 * later than this one: a moment later as a rule, half an hour later where its first tries failed. Messages between people cost a
 * few looks and leave no record.
 */
const lookAgainAfterMs = [30_000, 120_000, 480_000, 1_800_000];

async function lookAgain(
  { queue, log }: WorkerOptions,
  { message, isUndecided }: { message: Ask; isUndecided: boolean },
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
  turn: "woken",
  redrive: "redriven",
  cancel: "cancel_asked",
} as const satisfies Record<TaskMessage["type"], TaskEvent["type"]>;

/** What is none of the chain and comes too late to change anything. */
function isIdle({ message, task }: { message: TaskMessage; task: Task }): boolean {
  if (message.type === "turn") return task.state !== "queued" && task.state !== "received";
  return message.type === "cancel" && (task.state === "delivering" || task.state === "done");
}

/** The conditional create is the only claim of a message: of all its deliveries one makes the record. */
async function claimMessage({ store, log }: WorkerOptions, message: Ask) {
  const created = await store.create({ item: receivedTask(message) });
  if (created !== undefined)
    log.info("task_created", { request_id: message.requestId, trace_id: traceIdOf(message.trace) });
  return created ?? (await store.get({ id: message.requestId }));
}

function parse(body: string): QueueMessage | undefined {
  try {
    return queueMessageSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
