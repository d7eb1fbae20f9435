/** The worker: takes one queue message and moves one task one step (architecture.md, "The way of one message", 2). */

import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { TaskEffect, TaskEvent } from "../task/events.ts";
import { next } from "../task/machine.ts";
import { type QueueMessage, queueMessageSchema } from "../task/messages.ts";
import type { Policy } from "../task/policy.ts";
import type { Step } from "../task/step.ts";
import { receivedTask, type Task } from "../task/task.ts";
import type { Act, RunAct } from "./acts.ts";

/** What happened in one step, for whoever watches (the local page). */
export type Observation = { requestId: string; event: TaskEvent; task: Task; effects: TaskEffect[] };

export type Worker = {
  /**
   * Resolves when the message is dealt with and may be removed; rejects when it must come again.
   * `signal` ends the act under way; what it may have done is then found out by the next wake-up.
   */
  handle(request: { body: string; signal?: AbortSignal }): Promise<void>;
  /** For a message that the queue gave up on: the task fails in words, and what cannot fail is tried again later. */
  deadLetter(request: { body: string }): Promise<void>;
};

type WorkerOptions = {
  store: TaskStore<Task>;
  queue: TaskQueue;
  policy: Policy;
  runAct: RunAct;
  /** Always shorter than the queue's visibility timeout; an act is ended by its signal a tenth earlier. */
  leaseMs: number;
  log: Log;
  newId: () => string;
  now?: () => number;
  observe?: (observation: Observation) => void;
};

/** How long a copy waits beyond the lease that it met, and how long an unclaimed dead letter waits. */
const beyondLeaseMs = 250;
const afterDeadLetterMs = 5 * 60_000;

export function createWorker(options: WorkerOptions): Worker {
  const { log } = options;
  return {
    async handle({ body, signal }) {
      const message = parse(body);
      if (message === undefined) return log.error("queue_message_refused", { bytes: body.length });
      await handleMessage(options, message, signal);
    },
    async deadLetter({ body }) {
      const message = parse(body);
      if (message === undefined) return log.error("queue_message_refused", { bytes: body.length });
      log.error("dead_letter", { request_id: message.requestId, event: message.type });
      await handleDeadLetter(options, message, body);
    },
  };
}

async function handleDeadLetter(options: WorkerOptions, message: QueueMessage, body: string): Promise<void> {
  const { store, queue, policy, now = Date.now } = options;
  const seq = seqOf(message);
  const task = await store.get({ id: message.requestId });
  // Never claimed: the store was out of reach all the time. The message is all there is, so it is kept going.
  if (task === undefined) {
    if (message.type === "ask") await queue.send({ body, delayMs: afterDeadLetterMs });
    return;
  }
  if (seq < task.wakeSeq) return;
  const heldMs = (task.lease?.untilMs ?? 0) - now();
  if (heldMs > 0) return queue.send({ body, delayMs: heldMs + beyondLeaseMs });
  const event: TaskEvent = { type: "dead_lettered" };
  const step = next({ task, event, policy });
  observe(options, event, step.task, step.effects);
  await finishStep(options, step, seq);
}

async function handleMessage(
  options: WorkerOptions,
  message: QueueMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { store, queue, policy, leaseMs, newId, now = Date.now } = options;
  const log = options.log.with({ request_id: message.requestId });
  const seq = seqOf(message);
  const stored = await store.get({ id: message.requestId });
  const task = stored ?? (message.type === "ask" ? await claimMessage(options, message) : undefined);
  if (task === undefined) return log.warn("wake_up_without_task", { seq });
  if (seq < task.wakeSeq) return log.debug("wake_up_dropped", { seq });

  const nowMs = now();
  if (task.lease !== undefined && task.lease.untilMs > nowMs) {
    const copy = copyPastLease({ message, lease: task.lease, wakeSeq: task.wakeSeq, nowMs });
    await queue.send(copy);
    return log.debug("lease_held", { seq, delay_ms: copy.delayMs });
  }
  const event: TaskEvent = { type: "woken", nowMs, resumed: task.lease !== undefined };
  const first = next({ task, event, policy });
  const lease = { owner: newId(), untilMs: nowMs + leaseMs };
  const claimed = await store.replace({ item: { ...first.task, lease } });
  if (claimed === undefined) {
    // Someone else was first: the message comes back to a record that says what is to do.
    await queue.send({ body: JSON.stringify(message), delayMs: beyondLeaseMs });
    return log.debug("claim_lost", { seq });
  }
  observe(options, event, claimed, first.effects);
  const last = await runEffects(options, { task: claimed, effects: first.effects }, signal);
  await finishStep(options, last, seq);
}

/**
 * Held by a worker that acts: the copy comes when the lease is over. But a wake-up ahead of the record was sent by a worker
 * that is only about to save; it comes again soon, and later each time, in case that worker died in between.
 */
function copyPastLease({
  message,
  lease,
  wakeSeq,
  nowMs,
}: {
  message: QueueMessage;
  lease: NonNullable<Task["lease"]>;
  wakeSeq: number;
  nowMs: number;
}) {
  const restMs = lease.untilMs - nowMs + beyondLeaseMs;
  if (message.type !== "wake" || message.seq <= wakeSeq) return { body: JSON.stringify(message), delayMs: restMs };
  const early = (message.early ?? 0) + 1;
  return { body: JSON.stringify({ ...message, early }), delayMs: Math.min(restMs, 50 * 2 ** Math.min(early, 20)) };
}

/** The conditional create is the only claim of a message: of all its deliveries one makes the record. */
async function claimMessage({ store, log }: WorkerOptions, message: Extract<QueueMessage, { type: "ask" }>) {
  const created = await store.create({ item: receivedTask(message) });
  if (created !== undefined) log.info("task_created", { request_id: message.requestId });
  return created ?? (await store.get({ id: message.requestId }));
}

/** Runs acts until a step asks for none; what is left is at most a wake-up. Each act's signal ends before the lease does. */
async function runEffects(options: WorkerOptions, step: Step, stop: AbortSignal | undefined): Promise<Step> {
  const { policy, runAct, leaseMs, log } = options;
  const deadline = AbortSignal.timeout(Math.floor(leaseMs * 0.9));
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  let { task, effects } = step;
  for (let act = effects.find(isAct); act !== undefined; act = effects.find(isAct)) {
    const event = await runAct({ act, task, signal });
    const before = task.state;
    ({ task, effects } = next({ task, event, policy }));
    if (event.type === "slack_failed" && before !== "done" && task.state === "done") {
      log.error("answer_not_delivered", { request_id: task.id, reason: event.kind });
    }
    observe(options, event, task, effects);
  }
  if (effects.some((effect) => effect.type === "stop_session")) await runAct.stopSession({ task, signal });
  return { task, effects };
}

/** Wake-up first, record second, and only then is the message finished: a crash in between leaves one chain that goes on. */
async function finishStep(options: WorkerOptions, { task, effects }: Step, seq: number): Promise<void> {
  const { store, queue, log } = options;
  const wake = effects.find((effect) => effect.type === "wake");
  if (wake !== undefined) {
    const body = JSON.stringify({ type: "wake", requestId: task.id, seq: seq + 1 });
    await queue.send({ body, delayMs: wake.delayMs });
  }
  const { lease: _lease, ...rest } = task;
  const saved = await store.replace({ item: { ...rest, wakeSeq: seq + 1 } });
  if (saved === undefined) log.warn("lease_lost", { request_id: task.id, seq });
}

function observe({ observe: watch, log }: WorkerOptions, event: TaskEvent, task: Task, effects: TaskEffect[]): void {
  log.info("task_step", {
    request_id: task.id,
    event: event.type,
    state: task.state,
    effect: effects.map((effect) => effect.type).join(","),
    ...(event.type === "call_failed" ? { reason: event.error.reason } : {}),
    ...(event.type === "slack_failed" ? { reason: event.kind } : {}),
  });
  watch?.({ requestId: task.id, event, task, effects });
}

function isAct(effect: TaskEffect): effect is Act {
  return effect.type !== "wake" && effect.type !== "stop_session";
}

function seqOf(message: QueueMessage): number {
  return message.type === "ask" ? 0 : message.seq;
}

function parse(body: string): QueueMessage | undefined {
  try {
    return queueMessageSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
