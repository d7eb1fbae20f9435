/**
 * Runs one step of a task: claims its lease, runs the acts, sends the next wake-up and saves the record. A step that would follow at once
 * is run under the same lease, without a wake-up. The order survives a crash at any point.
 */

import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import type { ItemWrite, ItemWriter, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import type { Log, LogFields } from "@sekisho/runtime/log.ts";
import type { Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  noMetrics,
  noSpans,
  readTraceId,
  type Spans,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Gate } from "../gate/gate.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type { Act, TaskEffect, TaskEvent } from "../task/events.ts";
import { withHistory } from "../task/history.ts";
import { next } from "../task/machine.ts";
import type { Policy, ZoneSecretValues } from "../task/routing.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import { type Transition, wake } from "../task/transition.ts";
import { withUsage } from "../usage/entry.ts";
import { causeKindOf } from "./data-failures.ts";
import {
  createLease,
  type HeldLease,
  InterruptedStep,
  type Lease,
  readLateFiles,
  withRenewedLease,
  withStoredRevision,
} from "./held-lease.ts";
import type { HandleInteraction } from "./interactions.ts";
import type { NoticeLateChange } from "./late-changes.ts";
import { isAct, isAtOnce, isWake, toDelayMs } from "./step-effects.ts";
import { countStep, createDeliverySpan, giveUpReason, recordTaskSpan } from "./step-metrics.ts";
import { createStepSpan, type QueueSystem } from "./step-span.ts";
import type { Threads } from "./threads.ts";
import type { Votes } from "./votes.ts";

/** One event of a step and its result, for the local page. */
export type Observation = {
  requestId: string;
  event: TaskEvent;
  task: Task;
  effects: TaskEffect[];
};

export type ActRequest<A extends Act = Act> = {
  act: A;
  task: Task;
  signal: AbortSignal;
  /** The step stores the writes that the act returns. Otherwise the act does them itself, and returns none. */
  storesWrites?: boolean;
};

/** `writes` are stored with the task's record, so that one call does them all. If a condition of theirs fails, the act is repeated. */
export type ActResult = { event: TaskEvent; writes?: readonly ItemWrite[] };

/** Rejects if the store, the queue or the gate is unavailable. The message is then delivered again. */
export type RunAct = (request: ActRequest) => Promise<ActResult>;

/** Best effort, because a session that is not stopped ends by itself. */
export type StopSession = (request: { task: Task; signal: AbortSignal }) => Promise<void>;

/** The options of a step that runs no acts itself but leaves them to the next wake-up. */
export type ActlessOptions = {
  store: TaskStore<Task> & ItemWriter;
  queue: TaskQueue;
  policy: Policy;
  /** Always shorter than the queue's visibility timeout. An act's signal aborts after nine tenths of it. */
  leaseMs: number;
  log: Log;
  telemetry?: Telemetry;
  /** For spans. */
  queueSystem?: QueueSystem | undefined;
  newId: () => string;
  now?: () => number;
  random?: () => number;
  observe?: (observation: Observation) => void;
};

export type WorkerOptions = ActlessOptions & {
  runAct: RunAct;
  stopSession: StopSession;
  /** True if the bot was asked in the message's thread before. Only then it answers a message that does not mention it. */
  isKnownThread: Threads["isKnown"];
  /** True if a message is dropped without an answer, before there is a record of it. */
  isIgnored: Gate["isIgnored"];
  noticeLateChange: NoticeLateChange;
  handleInteraction: HandleInteraction;
  passVote: Votes["pass"];
  /** The key of the session ids. Rejects if the store is unavailable. */
  zoneSecret: () => ZoneSecretValues | Promise<ZoneSecretValues>;
};

type StepOptions = ActlessOptions & Partial<Pick<WorkerOptions, "runAct" | "stopSession">>;

type Begun = {
  /** The task as it was read, or as it was created. */
  task: Task;
  /** The lease with which the task was created. The step needs no claim then. */
  lease?: Lease | undefined;
  event: TaskEvent;
  seq: number;
  /** True if the step may begin with an act that only reads, before it claims the lease. */
  mayLook?: boolean;
  nowMs: number;
  signal: AbortSignal | undefined;
};

/** The task machine's transition, and the event that caused it. */
type Move = Transition & { event: TaskEvent };

/** A step as the last phase left it. No phase changes it; each returns the next one. */
type Step = Move & {
  /** The task before the event. */
  before: Task;
  /** Undefined until the lease is claimed. */
  held: HeldLease | undefined;
  /** The act whose writes are still to be stored. */
  unstored?: Unstored | undefined;
  /**
   * What the step did without a lease. Another worker may have done the same, so that is reported once a write under the revision that was
   * read has succeeded.
   */
  unreported: readonly Report[];
  /** How many wake-ups without a delay it stands for, besides its own message. */
  followed: number;
};

type Unstored = { request: ActRequest; writes: readonly ItemWrite[] };

/**
 * `saved`: the record is stored. `sent_again`: the record has not changed, and the wake-up was sent again with the number of polls.
 * `lost`: the lease had ended, and another worker goes on. `unclaimed`: another worker was first, and this one has done nothing.
 */
export type StepResult = "saved" | "sent_again" | "lost" | "unclaimed";

/**
 * After the lease is claimed, every rejection is an InterruptedStep. Without `runAct` the record notes the step's act (`owed`) for the
 * worker that handles the next wake-up.
 */
export async function runStep(options: StepOptions, begun: Begun): Promise<StepResult> {
  const { task, event } = begun;
  const first = await begin(options, begun);
  if (first === undefined) return "unclaimed";
  reportStep(options, { ...first, before: task, operation: "save" });
  const span = createStepSpan(task, event, options.queueSystem);
  return spansOf(options).within(span, () => runPhases(options, begun, first));
}

/** Decides the first step, and claims the lease unless the record says already what a worker that finds it must know, or the act is a look. */
async function begin(options: StepOptions, begun: Begun): Promise<Step | undefined> {
  const { task, event, lease, nowMs } = begun;
  const move = decide(options, { task, event, atMs: nowMs });
  const held = lease && { lease, stored: task };
  const step: Step = { ...move, before: task, held, unreported: [], followed: 0 };
  const isSaved = held !== undefined && step.task === task;
  const isLook = begun.mayLook === true && looks.has(step.effects.find(isAct)?.type ?? "send");
  return isSaved || isLook ? step : claim(options, step);
}

/** Runs one phase after the other until nothing is left to do but to save the step. */
async function runPhases(options: StepOptions, begun: Begun, first: Step): Promise<StepResult> {
  let step = first;
  try {
    for (;;) {
      const phase = phaseOf(options, begun, step);
      if (phase === "save") return await save(options, begun, step);
      const settled = step.unstored !== undefined ? await repeatUnstored(options, step) : step;
      const next = await phases[phase](options, settled, begun);
      if (next === undefined) return loseLease(options, begun, step);
      step = next;
    }
  } catch (cause) {
    if (step.held === undefined || cause instanceof InterruptedStep) throw cause;
    throw new InterruptedStep({ leaseUntilMs: step.held.lease.untilMs, cause });
  }
}

/** Each resolves to undefined if another worker has changed the record. */
const phases = { claim, act, follow };

function phaseOf(
  { runAct, leaseMs, now = Date.now }: StepOptions,
  { nowMs, signal }: Begun,
  { effects, held, followed }: Step,
): keyof typeof phases | "save" {
  const due = runAct && effects.find(isAct);
  if (due !== undefined) return held === undefined && !looks.has(due.type) ? "claim" : "act";
  const hasTime = signal?.aborted !== true && now() - nowMs <= leaseMs * followShare;
  const mayFollow = runAct !== undefined && hasTime && followed < maxFollowing;
  return mayFollow && isAtOnce(effects) ? "follow" : "save";
}

/** Asks the task machine. If the machine throws on the task's data, the task fails, because every retry would throw again. */
function decide(
  options: ActlessOptions,
  { task, event, atMs }: { task: Task; event: TaskEvent; atMs: number },
): Move {
  if (event.type === "step_failed") {
    options.log.error("step_failed", {
      ...idsOf(task),
      state: task.state,
      cause_kind: event.causeKind,
    });
  }
  try {
    const { policy } = options;
    const transition = next({ task, event, policy });
    const after = withHistory({ previousTask: task, task: transition.task, event, atMs });
    return {
      ...transition,
      task: withUsage({ before: task, after, settings: policy.usage, atMs }),
      event,
    };
  } catch (thrown) {
    if (event.type === "step_failed") throw thrown;
    return decideFailure(options, { task, atMs, thrown });
  }
}

function decideFailure(
  options: ActlessOptions,
  { task, atMs, thrown }: { task: Task; atMs: number; thrown: unknown },
): Move {
  const event: TaskEvent = { type: "step_failed", nowMs: atMs, causeKind: causeKindOf(thrown) };
  return decide(options, { task, event, atMs });
}

/** Stores a step before its act, and claims the lease with that. If the record cannot be written, the task fails, and that is stored. */
async function claim(options: StepOptions, step: Step): Promise<Step | undefined> {
  const { store, runAct, now = Date.now } = options;
  const { before, held } = step;
  const lease = held?.lease ?? createLease(options, now());
  async function storeMove(decided: Move): Promise<Step | undefined> {
    const move = runAct === undefined ? withOwedAct(decided) : decided;
    const item = { ...withStoredRevision(held, move.task), lease };
    const stored = await store.replace({ item });
    return stored && { ...step, ...move, task: stored, held: { lease, stored } };
  }
  const claimed = await storeMove(step).catch((thrown: unknown) =>
    storeMove(decideFailure(options, { task: before, atMs: now(), thrown: itemErrorIn(thrown) })),
  );
  if (claimed === undefined) return undefined;
  reportUnreported(options, claimed);
  return { ...claimed, unreported: [] };
}

function withOwedAct(move: Move): Move {
  const owedAct = move.effects.find(isAct);
  if (owedAct === undefined) return move;
  const { type } = owedAct;
  if (type !== "cancel" && type !== "leave_thread")
    throw new Error(`The act ${type} cannot be left to another worker.`);
  return { ...move, task: { ...move.task, owed: type }, effects: [wake(0)] };
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

/** Acts that only read, so that two workers may run them at once. */
const looks: ReadonlySet<Act["type"]> = new Set(["poll", "check_thread"]);
/** Acts that can be repeated by a worker that finds the record from before the step, so that it need not be stored before them. */
const repeatableActs: ReadonlySet<Act["type"]> = new Set(["prepare", "join_thread"]);
/** Acts that may last longer than a lease. */
const longActs: ReadonlySet<Act["type"]> = new Set(["send", "answer"]);

/** Runs the act, and decides by its event. */
async function act(options: StepOptions, step: Step, begun: Begun): Promise<Step> {
  const { now = Date.now } = options;
  const { task, held } = step;
  const { act: due, run } = dueAct(options, step);
  const work = async (signal: AbortSignal) => {
    const request = { act: due, task, signal, storesWrites: true };
    return { request, ...(await run(request)) };
  };
  const ended =
    held !== undefined && longActs.has(due.type)
      ? await withRenewedLease({ ...options, held, signal: begun.signal, work })
      : { result: await withinLease(options, begun, { held, work }), held };
  const { request, event, writes } = ended.result;
  const move = decide(options, { task, event, atMs: now() });
  const acted = { ...step, ...move, before: task, held: ended.held };
  const unstored = writes && { request, writes };
  return reportHeld(options, { ...acted, unstored }, due.type);
}

function dueAct({ runAct, telemetry }: StepOptions, { effects }: Step) {
  const due = effects.find(isAct);
  if (due === undefined || runAct === undefined) throw new Error("The step has no act to run.");
  if (due.type !== "deliver") return { act: due, run: runAct };
  const spans = telemetry?.spans ?? noSpans;
  return { act: due, run: (request: ActRequest) => runDelivery(spans, runAct, request) };
}

/** Ends the work a tenth of the lease before its end, which leaves time for the wake-up and the record. */
function withinLease<T>(
  { leaseMs, now = Date.now }: StepOptions,
  begun: Begun,
  { held, work }: { held: HeldLease | undefined; work: (signal: AbortSignal) => Promise<T> },
): Promise<T> {
  const endsAtMs = (held?.lease.untilMs ?? begun.nowMs + leaseMs) - leaseMs / 10;
  const { signal, end } = createDeadline({ timeoutMs: endsAtMs - now(), signal: begun.signal });
  return work(signal).finally(end);
}

/** Goes on with the step that a wake-up without a delay would begin. Claims the lease if its act cannot be repeated. */
async function follow(options: StepOptions, step: Step): Promise<Step | undefined> {
  const { store, now = Date.now } = options;
  const { task, held } = step;
  const event: TaskEvent = { type: "woken", nowMs: now(), resumed: false };
  const move = decide(options, { task, event, atMs: event.nowMs });
  const following = { ...step, ...move, before: task, followed: step.followed + 1 };
  const isRepeatable = following.effects.every(
    (effect) => !isAct(effect) || repeatableActs.has(effect.type),
  );
  const claimed = isRepeatable ? following : await claim(options, following);
  if (claimed !== undefined) return reportHeld(options, claimed, "save");
  const completed = await readLateFiles({ store, held, task });
  return completed && { ...following, ...completed, effects: [wake(0)], event };
}

/** Repeats the act whose writes are not stored with the record. This time it does them itself; some may be stored already. */
async function repeatUnstored({ runAct }: StepOptions, step: Step): Promise<Step> {
  if (step.unstored !== undefined)
    await runAct?.({ ...step.unstored.request, storesWrites: false });
  return { ...step, unstored: undefined };
}

function runDelivery(spans: Spans, runAct: RunAct, request: ActRequest): Promise<ActResult> {
  return spans.within(createDeliverySpan(request.task), async (span) => {
    const result = await runAct(request);
    if (result.event.type === "slack_failed") span.fail(result.event.kind);
    return result;
  });
}

/** Ends the step: stops the session, sends the wake-up and saves the record. */
async function save(options: StepOptions, begun: Begun, step: Step): Promise<StepResult> {
  const { stopSession } = options;
  const { task, effects, held } = step;
  if (stopSession !== undefined && effects.some(({ type }) => type === "stop_session")) {
    const work = (signal: AbortSignal) => stopSession({ task, signal });
    await withinLease(options, begun, { held, work });
  }
  const polls = held === undefined ? effects.find(isWake)?.polls : undefined;
  if (polls !== undefined) return sendAgain(options, step, { seq: begun.seq, polls });
  const saved = await saveRecord(options, step, begun.seq);
  if (saved === undefined) return loseLease(options, begun, step);
  reportUnreported(options, step);
  recordTaskSpan({ spans: spansOf(options), before: begun.task, task: saved });
  return "saved";
}

function loseLease({ log }: StepOptions, { task, seq }: Begun, { held }: Step): StepResult {
  if (held === undefined) return "unclaimed";
  log.warn("lease_lost", { ...idsOf(task), seq });
  return "lost";
}

/** Sends the wake-up again as it is, because nothing but the number of polls has changed. */
async function sendAgain(
  options: ActlessOptions,
  step: Step,
  { seq, polls }: { seq: number; polls: number },
): Promise<StepResult> {
  const { task, effects } = step;
  const body = encodeQueueMessage({ type: "wake", requestId: task.id, seq, polls });
  await options.queue.send({
    body,
    group: queueGroupOf(task),
    delayMs: toDelayMs(options, effects),
  });
  reportUnreported(options, step);
  return "sent_again";
}

/**
 * Sends the wake-up first and saves the record second. The queue message is finished only after that, so a crash in between leaves one
 * chain of wake-ups. If the record cannot be saved, the task fails, and the record notes the following act (`owed`) so that it is not
 * lost. Resolves to undefined if the lease had ended and another worker has gone on.
 */
async function saveRecord(
  options: StepOptions,
  step: Step,
  seq: number,
): Promise<Task | undefined> {
  const { store, queue, newId, now = Date.now } = options;
  const { task, effects, held } = step;
  // Without a lease, several workers may be here with copies of one message. Of their wake-ups only one may go on.
  const wakeKey = held === undefined ? newId() : undefined;
  const message = { type: "wake", requestId: task.id, seq: seq + 1, key: wakeKey } as const;
  const nextWakeUp = { body: encodeQueueMessage(message), group: queueGroupOf(task) };
  if (effects.some(isWake)) {
    await queue.send({ ...nextWakeUp, delayMs: toDelayMs(options, effects) });
  }
  const { lease: _lease, wakeKey: _wakeKey, ...freeTask } = task;
  const toItem = (savedTask: Task, revisionOf = held) =>
    withStoredRevision(revisionOf, {
      ...savedTask,
      wakeSeq: seq + 1,
      ...(wakeKey !== undefined && { wakeKey }),
    });
  const item = toItem(freeTask);
  const joint = await storeTogether(options, step, item);
  if (joint !== undefined) return joint;
  if (step.unstored !== undefined) await repeatUnstored(options, step);
  const saved = await store.replace({ item }).catch(async (thrown: unknown) => {
    const failure = { task: freeTask, atMs: now(), thrown: itemErrorIn(thrown) };
    const failed = withOwedAct(decideFailure(options, failure));
    await queue.send(nextWakeUp);
    const stored = await store.replace({ item: toItem(failed.task) });
    if (stored !== undefined)
      reportStep(options, { ...failed, before: freeTask, operation: "save" });
    return stored;
  });
  if (saved !== undefined) return saved;
  const completed = await readLateFiles({ store, held, task: freeTask });
  return completed && store.replace({ item: toItem(completed.task, completed.held) });
}

/** Saves the record together with the writes of an act. Resolves to undefined if there are none, or a condition fails. */
async function storeTogether(
  { store }: StepOptions,
  { unstored }: Step,
  item: Task,
): Promise<Task | undefined> {
  if (unstored === undefined) return undefined;
  const writes = [...unstored.writes, { type: "replace", item } as const];
  const isWritten = await store.writeTogether({ writes }).catch((thrown: unknown) => {
    itemErrorIn(thrown);
    return false;
  });
  return isWritten ? { ...item, revision: item.revision + 1 } : undefined;
}

/** `operation` is the step's last act, for the log line of an answer that cannot be delivered. */
type Report = Move & { before: Task; operation: string };

/** Reports a step at once under a lease, and otherwise after the next write. */
function reportHeld(options: ActlessOptions, step: Step, operation: string): Step {
  const { task, effects, event, before, held, unreported } = step;
  const report = { task, effects, event, before, operation };
  if (held === undefined) return { ...step, unreported: [...unreported, report] };
  reportStep(options, report);
  return step;
}

function reportUnreported(options: ActlessOptions, { unreported }: Step): void {
  for (const report of unreported) reportStep(options, report);
}

/** Logs and counts a step. */
function reportStep(
  options: ActlessOptions,
  { before, task, effects, event, operation }: Report,
): void {
  const reason = giveUpReason({ before, event, task });
  if (reason !== undefined)
    options.log.error("answer_not_delivered", { ...idsOf(task), operation, reason });
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
