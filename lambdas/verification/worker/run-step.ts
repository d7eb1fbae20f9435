/**
 * Runs one step of a task: claims its lease, runs the acts, sends the next wake-up and saves the record. A step that would follow at once
 * is run under the same lease, without a wake-up. The order survives a crash at any point.
 */

import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import { ItemError } from "../../shared/engine/records.ts";
import type { Log, LogFields } from "../../shared/log.ts";
import type { Telemetry } from "../../shared/telemetry/telemetry.ts";
import { noMetrics, noSpans, readTraceId, type SpanStart, type Spans } from "../../shared/telemetry/telemetry.ts";
import type { Gate } from "../gate/gate.ts";
import type { Act, TaskEffect, TaskEvent } from "../task/events.ts";
import { next } from "../task/machine.ts";
import type { TaskMessage } from "../task/messages.ts";
import type { Policy } from "../task/routing.ts";
import { type Transition, wake, withHistory } from "../task/step.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import { causeKindOf } from "./data-failures.ts";
import type { HandleButtonClick, HandleConversationOpened } from "./interactions.ts";
import { countStep, createDeliverySpan, giveUpReason, recordTaskSpan } from "./step-metrics.ts";
import type { Threads } from "./threads.ts";

/** One event of a step and its result, for the local page. */
export type Observation = { requestId: string; event: TaskEvent; task: Task; effects: TaskEffect[] };

export type ActRequest = { act: Act; task: Task; signal: AbortSignal };

/** Rejects if the store, the queue or the gate is unavailable. The message is then delivered again. */
export type RunAct = {
  (request: ActRequest): Promise<TaskEvent>;
  /** Best effort, because a session that is not stopped ends by itself. */
  stopSession(request: { task: Task; signal: AbortSignal }): Promise<void>;
};

export type WorkerOptions = {
  store: TaskStore<Task>;
  queue: TaskQueue;
  policy: Policy;
  runAct: RunAct;
  /** True if the bot was asked in the message's thread before. Only then it answers a message that does not mention it. */
  isKnownThread: Threads["isKnown"];
  /** True if a message is dropped without an answer, before there is a record of it. */
  isIgnored: Gate["isIgnored"];
  handleButtonClick: HandleButtonClick;
  handleConversationOpened: HandleConversationOpened;
  /** Always shorter than the queue's visibility timeout. An act's signal aborts after nine tenths of it. */
  leaseMs: number;
  /** The key of the session ids. Rejects if the store is unavailable. */
  zoneSecret: () => Promise<string>;
  log: Log;
  telemetry?: Telemetry;
  /** For spans. */
  queueSystem?: QueueSystem | undefined;
  newId: () => string;
  now?: () => number;
  random?: () => number;
  observe?: (observation: Observation) => void;
};

/** The options of a step that runs no acts itself but leaves them to the next wake-up. */
export type ActlessOptions = Omit<
  WorkerOptions,
  "runAct" | "isKnownThread" | "isIgnored" | "handleButtonClick" | "handleConversationOpened" | "zoneSecret"
>;

type StepOptions = ActlessOptions & { runAct?: RunAct };

type Lease = NonNullable<Task["lease"]>;

type Claimed = {
  /** The task as it was read, or as it was created. */
  task: Task;
  /** The lease with which the task was created. The step needs no claim then. */
  lease?: Lease | undefined;
  event: TaskEvent;
  seq: number;
  nowMs: number;
  signal: AbortSignal | undefined;
};

/**
 * Resolves to false if another worker was first. After the lease is claimed, every rejection is an InterruptedStep. Without `runAct` the
 * record notes the step's act (`owed`) for the worker that handles the next wake-up.
 */
export async function runStep(options: StepOptions, claimed: Claimed): Promise<boolean> {
  const { task, event, seq, nowMs, signal } = claimed;
  const { lease = createLease(options, nowMs) } = claimed;
  const step = takeStep(options, { task, event, atMs: nowMs });
  // The record of a new task says already what a worker that finds it must know.
  const isSaved = claimed.lease !== undefined && step.task === task;
  const first = isSaved ? step : await saveStep(options, { before: task, step, lease });
  if (first === undefined) return false;
  reportStep(options, { ...first, before: task, operation: "save" });
  const spans = spansOf(options);
  try {
    await spans.within(createStepSpan(task, event, options.queueSystem), async () => {
      const last = await runEffects(options, first, { lease, startedAtMs: nowMs, stop: signal });
      const saved = last === undefined ? undefined : await finishStep(options, last, seq);
      if (saved === undefined) options.log.warn("lease_lost", { ...idsOf(task), seq });
      else recordTaskSpan({ spans, before: task, task: saved });
    });
  } catch (cause) {
    throw new InterruptedStep({ leaseUntilMs: lease.untilMs, cause });
  }
  return true;
}

export function createLease({ newId, leaseMs }: Pick<ActlessOptions, "newId" | "leaseMs">, nowMs: number): Lease {
  return { owner: newId(), untilMs: nowMs + leaseMs };
}

/**
 * Stores a step before its act. If the record cannot be written, the task fails, and that is stored. Resolves to undefined if another
 * worker has changed the record.
 */
async function saveStep(
  options: StepOptions,
  { before, step, lease }: { before: Task; step: Taken; lease: Lease },
): Promise<Taken | undefined> {
  const { store, runAct, now = Date.now } = options;
  const owedIf = (taken: Taken) => (runAct === undefined ? owe(taken) : taken);
  const save = ({ task }: Taken) => store.replace({ item: { ...task, lease } });
  let taken = owedIf(step);
  const saved = await save(taken).catch((thrown: unknown) => {
    taken = owedIf(takeFailedStep(options, { task: before, atMs: now(), thrown: itemErrorIn(thrown) }));
    return save(taken);
  });
  return saved && { ...taken, task: saved };
}

type Taken = Transition & { event: TaskEvent };

function owe(taken: Taken): Taken {
  const act = taken.effects.find(isAct);
  if (act === undefined) return taken;
  const { type } = act;
  if (type !== "cancel" && type !== "leave_thread")
    throw new Error(`The act ${type} cannot be left to another worker.`);
  return { ...taken, task: { ...taken.task, owed: type }, effects: [wake(0)] };
}

/** Asks the task machine. If the machine throws on the task's data, the task fails, because every retry would throw again. */
function takeStep(
  options: ActlessOptions,
  { task, event, atMs }: { task: Task; event: TaskEvent; atMs: number },
): Taken {
  if (event.type === "step_failed") {
    options.log.error("step_failed", { ...idsOf(task), state: task.state, cause_kind: event.causeKind });
  }
  try {
    const step = next({ task, event, policy: options.policy });
    return { ...step, task: withHistory({ before: task, after: step.task, event, atMs }), event };
  } catch (thrown) {
    if (event.type === "step_failed") throw thrown;
    return takeFailedStep(options, { task, atMs, thrown });
  }
}

function takeFailedStep(
  options: ActlessOptions,
  { task, atMs, thrown }: { task: Task; atMs: number; thrown: unknown },
): Taken {
  return takeStep(options, { task, event: { type: "step_failed", nowMs: atMs, causeKind: causeKindOf(thrown) }, atMs });
}

/** Returns the ItemError of a write. Rethrows any other error, which is a failure of the store. */
function itemErrorIn(thrown: unknown): ItemError {
  if (thrown instanceof ItemError) return thrown;
  throw thrown;
}

/** The share of the lease after which no further step follows, so that each act has at least half of the lease. */
const followShare = 0.4;
/** The limit of steps that follow, in case a state leads to itself at once. */
const maxFollowing = 12;

/** Acts that can be repeated by a worker that finds the record from before the step, so that it need not be stored before them. */
const repeatableActs: ReadonlySet<Act["type"]> = new Set(["prepare", "join_thread"]);

/**
 * Runs acts until the machine returns none, and goes on with the step that a wake-up without a delay would begin, while there is time.
 * Each act's signal aborts before the lease ends. Resolves to undefined if the lease had ended and another worker has gone on.
 */
async function runEffects(
  options: StepOptions,
  first: Transition,
  { lease, startedAtMs, stop }: { lease: Lease; startedAtMs: number; stop: AbortSignal | undefined },
): Promise<Transition | undefined> {
  const { runAct, leaseMs, now = Date.now } = options;
  if (runAct === undefined) return first;
  const spans = spansOf(options);
  const deadline = AbortSignal.timeout(Math.floor(leaseMs * 0.9));
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  const hasTime = () => !signal.aborted && now() - startedAtMs <= leaseMs * followShare;
  let { task, effects } = first;
  let following = 0;
  for (;;) {
    const before = task;
    const act = effects.find(isAct);
    if (act !== undefined) {
      const request = { act, task, signal };
      const result = await (act.type === "deliver" ? runDelivery(spans, runAct, request) : runAct(request));
      const step = takeStep(options, { task, event: result, atMs: now() });
      ({ task, effects } = step);
      reportStep(options, { ...step, before, operation: act.type });
      continue;
    }
    if (effects.some((effect) => effect.type === "stop_session")) await runAct.stopSession({ task, signal });
    if (!isAtOnce(effects) || !hasTime() || following === maxFollowing) return { task, effects };
    following += 1;
    const event: TaskEvent = { type: "woken", nowMs: now(), resumed: false };
    const step = takeStep(options, { task, event, atMs: event.nowMs });
    const next = step.effects.find(isAct);
    const isRepeatable = next === undefined || repeatableActs.has(next.type);
    const saved = isRepeatable ? step : await saveStep(options, { before, step, lease });
    if (saved === undefined) return undefined;
    ({ task, effects } = saved);
    reportStep(options, { ...saved, before, operation: "save" });
  }
}

/** True if nothing has to wait before the next step. */
function isAtOnce(effects: readonly TaskEffect[]): boolean {
  const [only] = effects;
  return effects.length === 1 && only?.type === "wake" && only.delayMs === 0 && !only.jitterMs;
}

function runDelivery(spans: Spans, runAct: RunAct, request: ActRequest): Promise<TaskEvent> {
  return spans.within(createDeliverySpan(request.task), async (span) => {
    const event = await runAct(request);
    if (event.type === "slack_failed") span.fail(event.kind);
    return event;
  });
}

/**
 * Sends the wake-up first and saves the record second. The queue message is finished only after that, so a crash in between leaves one
 * chain of wake-ups. If the record cannot be saved, the task fails, and the record notes the following act (`owed`) so that it is not
 * lost. Resolves to undefined if the lease had ended and another worker has gone on.
 */
async function finishStep(
  options: ActlessOptions,
  { task, effects }: Transition,
  seq: number,
): Promise<Task | undefined> {
  const { store, queue, now = Date.now, random = Math.random } = options;
  const next = { body: JSON.stringify({ type: "wake", requestId: task.id, seq: seq + 1 }), group: queueGroupOf(task) };
  const wake = effects.find((effect) => effect.type === "wake");
  if (wake !== undefined) {
    const delayMs = wake.delayMs + Math.floor(random() * (wake.jitterMs ?? 0));
    await queue.send({ ...next, delayMs });
  }
  const { lease: _lease, ...rest } = task;
  const save = (item: Task) => store.replace({ item: { ...item, wakeSeq: seq + 1 } });
  const saved = await save(rest).catch(async (thrown: unknown) => {
    const failed = owe(takeFailedStep(options, { task: rest, atMs: now(), thrown: itemErrorIn(thrown) }));
    await queue.send(next);
    const kept = await save(failed.task);
    if (kept !== undefined) reportStep(options, { ...failed, before: rest, operation: "save" });
    return kept;
  });
  return saved;
}

/** Logs and counts a step. `operation` is the step's last act, for the log line of an answer that cannot be delivered. */
function reportStep(
  options: ActlessOptions,
  { before, task, effects, event, operation }: Taken & { before: Task; operation: string },
): void {
  const reason = giveUpReason({ before, event, task });
  if (reason !== undefined) options.log.error("answer_not_delivered", { ...idsOf(task), operation, reason });
  options.log.info("task_step", {
    ...idsOf(task),
    event: event.type,
    state: task.state,
    effect: effects.map((effect) => effect.type).join(","),
    ...(event.type === "call_failed" ? { reason: event.error.reason } : {}),
    ...(event.type === "slack_failed" ? { reason: event.kind } : {}),
  });
  options.observe?.({ requestId: task.id, event, task, effects });
  countStep({ metrics: options.telemetry?.metrics ?? noMetrics, before, event, task });
}

function spansOf({ telemetry }: ActlessOptions): Spans {
  return telemetry?.spans ?? noSpans;
}

function idsOf({ id, call, trace }: Task): LogFields {
  return { request_id: id, task_id: call?.taskId, trace_id: readTraceId(trace) };
}

function isAct(effect: TaskEffect): effect is Act {
  return effect.type !== "wake" && effect.type !== "stop_session";
}

/** The queue's kind as in OpenTelemetry's semantic conventions (`messaging.system`). */
export type QueueSystem = "aws_sqs" | "sqlite";

/** The span of one step, by OpenTelemetry's conventions for messaging. */
function createStepSpan(task: Task, event: TaskEvent, system: QueueSystem | undefined): SpanStart {
  return {
    name: "process tasks",
    kind: "consumer",
    trace: task.trace,
    attributes: {
      "messaging.system": system,
      "messaging.destination.name": "tasks",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.message.conversation_id": task.id,
      "sekisho.request_id": task.id,
      "sekisho.event": event.type,
      "sekisho.state": task.state,
    },
  };
}

/** A step failed after it had claimed the lease. No worker can go on before the lease ends, so its message need not come earlier. */
export class InterruptedStep extends Error {
  readonly leaseUntilMs: number;

  constructor({ leaseUntilMs, cause }: { leaseUntilMs: number; cause: unknown }) {
    super("The step was interrupted.", { cause });
    // The log shows the name, so it is the cause's.
    this.name = cause instanceof Error ? cause.name : "InterruptedStep";
    this.leaseUntilMs = leaseUntilMs;
  }
}

/** How long a message waits after another worker's lease ends, or after another worker was first. */
export const soonAgainMs = 250;

/**
 * Copies a message that met a held lease, to be delivered when the lease ends. Some copies come sooner, with a doubling delay: a wake-up
 * whose number is above the record's, because its worker is about to save, and `cancel`, which should not wait for a long call.
 * `thread_free` comes after at most a second for the same reason.
 */
export function deferUntilLeaseEnds(request: {
  message: TaskMessage;
  task: Pick<Task, "wakeSeq">;
  lease: NonNullable<Task["lease"]>;
  nowMs: number;
}): { body: string; delayMs: number } {
  const { message, lease, nowMs } = request;
  const { wakeSeq } = request.task;
  const restMs = lease.untilMs - nowMs + soonAgainMs;
  if (message.type === "thread_free") return { body: JSON.stringify(message), delayMs: Math.min(restMs, 1000) };
  if (message.type === "cancel") return laterCopy(message, 500, restMs);
  if (message.type !== "wake" || message.seq <= wakeSeq) return { body: JSON.stringify(message), delayMs: restMs };
  return laterCopy(message, 50, restMs);
}

/** Copies a message with a delay that doubles each time. */
function laterCopy(message: Extract<TaskMessage, { type: "wake" | "cancel" }>, firstMs: number, mostMs: number) {
  const early = (message.early ?? 0) + 1;
  return { body: JSON.stringify({ ...message, early }), delayMs: Math.min(mostMs, firstMs * 2 ** Math.min(early, 20)) };
}
