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
import { next } from "../task/machine.ts";
import type { Policy, ZoneSecretValues } from "../task/routing.ts";
import { type Transition, wake, withHistory } from "../task/step.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import { withUsage } from "../usage/entry.ts";
import { causeKindOf } from "./data-failures.ts";
import {
  createLease,
  type HeldLease,
  InterruptedStep,
  takeLateFiles,
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

export type ActRequest = {
  act: Act;
  task: Task;
  signal: AbortSignal;
  /** The step stores the writes that the act returns. Otherwise the act does them itself, and returns none. */
  storesWrites?: boolean;
};

/** `writes` are stored with the task's record, so that one call does them all. If a condition of theirs fails, the act is repeated. */
export type ActResult = { event: TaskEvent; writes?: readonly ItemWrite[] };

/** Rejects if the store, the queue or the gate is unavailable. The message is then delivered again. */
export type RunAct = {
  (request: ActRequest): Promise<ActResult>;
  /** Best effort, because a session that is not stopped ends by itself. */
  stopSession(request: { task: Task; signal: AbortSignal }): Promise<void>;
};

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

type StepOptions = ActlessOptions & { runAct?: RunAct };

type Begun = {
  /** The task as it was read, or as it was created. */
  task: Task;
  /** The lease with which the task was created. The step needs no claim then. */
  lease?: HeldLease["lease"];
  event: TaskEvent;
  seq: number;
  /** True if the step may begin with an act that only reads, before it claims the lease. */
  mayLook?: boolean;
  nowMs: number;
  signal: AbortSignal | undefined;
};

/**
 * The lease of a step, once it has claimed it, with the record as it is stored under it; the act whose writes are still to be stored, and
 * what it has seen without a lease. Another worker may have seen the same, so that is reported once a write under the revision that was
 * read has succeeded.
 */
type Hold = HeldLease & { unstored?: Unstored | undefined; unreported: Report[] };

type Unstored = { request: ActRequest; writes: readonly ItemWrite[] };

/**
 * Resolves to false if another worker was first. After the lease is claimed, every rejection is an InterruptedStep. Without `runAct` the
 * record notes the step's act (`owed`) for the worker that handles the next wake-up.
 */
export async function runStep(options: StepOptions, begun: Begun): Promise<boolean> {
  const { task, event, seq, nowMs } = begun;
  const hold: Hold = { lease: begun.lease, stored: begun.lease && task, unreported: [] };
  const step = takeStep(options, { task, event, atMs: nowMs });
  // The record of a new task says already what a worker that finds it must know.
  const isSaved = hold.lease !== undefined && step.task === task;
  const isLook = begun.mayLook === true && looks.has(step.effects.find(isAct)?.type ?? "send");
  const first = isSaved || isLook ? step : await saveStep(options, hold, { before: task, step });
  if (first === undefined) return false;
  reportStep(options, { ...first, before: task, operation: "save" });
  const spans = spansOf(options);
  try {
    return await spans.within(createStepSpan(task, event, options.queueSystem), async () => {
      const last = await runEffects(options, hold, { first, begun });
      const polls = hold.lease === undefined ? last?.effects.find(isWake)?.polls : undefined;
      if (last !== undefined && polls !== undefined)
        return sendAgain(options, hold, { last, seq, polls });
      const saved = last && (await finishStep(options, hold, { last, seq }));
      if (saved !== undefined) {
        reportSeen(options, hold);
        recordTaskSpan({ spans, before: task, task: saved });
      } else if (hold.lease !== undefined) options.log.warn("lease_lost", { ...idsOf(task), seq });
      return saved !== undefined || hold.lease !== undefined;
    });
  } catch (cause) {
    throw hold.lease === undefined
      ? cause
      : new InterruptedStep({ leaseUntilMs: hold.lease.untilMs, cause });
  }
}

/**
 * Stores a step before its act, and claims the lease with that. If the record cannot be written, the task fails, and that is stored.
 * Resolves to undefined if another worker has changed the record.
 */
async function saveStep(
  options: StepOptions,
  hold: Hold,
  { before, step }: { before: Task; step: Taken },
): Promise<Taken | undefined> {
  const { store, runAct, now = Date.now } = options;
  const { lease = createLease(options, now()) } = hold;
  const owedIf = (taken: Taken) => (runAct === undefined ? owe(taken) : taken);
  const save = ({ task }: Taken) =>
    store.replace({ item: { ...withStoredRevision(hold, task), lease } });
  let taken = owedIf(step);
  const saved = await save(taken).catch((thrown: unknown) => {
    taken = owedIf(
      takeFailedStep(options, { task: before, atMs: now(), thrown: itemErrorIn(thrown) }),
    );
    return save(taken);
  });
  if (saved === undefined) return undefined;
  hold.lease = lease;
  hold.stored = saved;
  reportSeen(options, hold);
  return { ...taken, task: saved };
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
    options.log.error("step_failed", {
      ...idsOf(task),
      state: task.state,
      cause_kind: event.causeKind,
    });
  }
  try {
    const { policy } = options;
    const step = next({ task, event, policy });
    const after = withHistory({ before: task, after: step.task, event, atMs });
    return {
      ...step,
      task: withUsage({ before: task, after, settings: policy.usage, atMs }),
      event,
    };
  } catch (thrown) {
    if (event.type === "step_failed") throw thrown;
    return takeFailedStep(options, { task, atMs, thrown });
  }
}

function takeFailedStep(
  options: ActlessOptions,
  { task, atMs, thrown }: { task: Task; atMs: number; thrown: unknown },
): Taken {
  return takeStep(options, {
    task,
    event: { type: "step_failed", nowMs: atMs, causeKind: causeKindOf(thrown) },
    atMs,
  });
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

/**
 * Runs acts until the machine returns none, and goes on with the step that a wake-up without a delay would begin, while there is time.
 * Claims the lease before the first act that does not only read. Resolves to undefined if another worker has changed the record.
 */
async function runEffects(
  options: StepOptions,
  hold: Hold,
  { first, begun }: { first: Taken; begun: Begun },
): Promise<Transition | undefined> {
  const { store, runAct, leaseMs, now = Date.now } = options;
  if (runAct === undefined) return first;
  const spans = spansOf(options);
  const deliverInSpan = (request: ActRequest) => runDelivery(spans, runAct, request);
  const hasTime = () =>
    begun.signal?.aborted !== true && now() - begun.nowMs <= leaseMs * followShare;

  /** Ends the work a tenth of the lease before its end, which leaves time for the wake-up and the record. */
  function withinLease<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const endsAtMs = (hold.lease?.untilMs ?? begun.nowMs + leaseMs) - leaseMs / 10;
    const { signal, end } = createDeadline({ timeoutMs: endsAtMs - now(), signal: begun.signal });
    return work(signal).finally(end);
  }

  let before = begun.task;
  let step = first;
  for (let following = 0; ; ) {
    const { task, effects } = step;
    const act = effects.find(isAct);
    if (act === undefined && !(isAtOnce(effects) && hasTime() && following < maxFollowing)) {
      if (effects.some(({ type }) => type === "stop_session"))
        await withinLease((signal) => runAct.stopSession({ task, signal }));
      return step;
    }
    await repeatUnstored(options, hold);
    if (act === undefined) {
      following += 1;
      before = task;
      const event: TaskEvent = { type: "woken", nowMs: now(), resumed: false };
      const next = takeStep(options, { task, event, atMs: event.nowMs });
      const isRepeatable = next.effects.every(
        (effect) => !isAct(effect) || repeatableActs.has(effect.type),
      );
      const saved = isRepeatable ? next : await saveStep(options, hold, { before, step: next });
      if (saved === undefined) {
        const completed = await takeLateFiles({ store, hold, task });
        if (completed === undefined) return undefined;
        step = { task: completed, effects: [wake(0)], event };
        continue;
      }
      step = saved;
      reportHeld(options, hold, { ...step, before, operation: "save" });
    } else if (hold.lease === undefined && !looks.has(act.type)) {
      const claimed = await saveStep(options, hold, { before, step });
      if (claimed === undefined) return undefined;
      step = claimed;
    } else {
      before = task;
      const run = act.type === "deliver" ? deliverInSpan : runAct;
      const work = async (signal: AbortSignal) => {
        const request = { act, task, signal, storesWrites: true };
        const { event, writes } = await run(request);
        if (writes !== undefined) hold.unstored = { request, writes };
        return event;
      };
      // These may last longer than a lease.
      const isLong = act.type === "send" || act.type === "answer";
      const renewed = { ...options, hold, signal: begun.signal, work };
      const event = await (isLong ? withRenewedLease(renewed) : withinLease(work));
      step = takeStep(options, { task, event, atMs: now() });
      reportHeld(options, hold, { ...step, before, operation: act.type });
    }
  }
}

/** Sends the wake-up again as it is, because nothing but the number of polls has changed. */
async function sendAgain(
  options: ActlessOptions,
  hold: Hold,
  { last: { task, effects }, seq, polls }: { last: Transition; seq: number; polls: number },
): Promise<boolean> {
  const body = encodeQueueMessage({ type: "wake", requestId: task.id, seq, polls });
  await options.queue.send({
    body,
    group: queueGroupOf(task),
    delayMs: toDelayMs(options, effects),
  });
  reportSeen(options, hold);
  return true;
}

/** Repeats the act whose writes are not stored with the record. This time it does them itself; some may be stored already. */
async function repeatUnstored({ runAct }: StepOptions, hold: Hold): Promise<void> {
  const { unstored } = hold;
  hold.unstored = undefined;
  if (unstored !== undefined) await runAct?.({ ...unstored.request, storesWrites: false });
}

function runDelivery(spans: Spans, runAct: RunAct, request: ActRequest): Promise<ActResult> {
  return spans.within(createDeliverySpan(request.task), async (span) => {
    const result = await runAct(request);
    if (result.event.type === "slack_failed") span.fail(result.event.kind);
    return result;
  });
}

/**
 * Sends the wake-up first and saves the record second. The queue message is finished only after that, so a crash in between leaves one
 * chain of wake-ups. If the record cannot be saved, the task fails, and the record notes the following act (`owed`) so that it is not
 * lost. Resolves to undefined if the lease had ended and another worker has gone on.
 */
async function finishStep(
  options: StepOptions,
  hold: Hold,
  { last: { task, effects }, seq }: { last: Transition; seq: number },
): Promise<Task | undefined> {
  const { store, queue, newId, now = Date.now } = options;
  // Without a lease, several workers may be here with copies of one message. Of their wake-ups only one may go on.
  const wakeKey = hold.lease === undefined ? newId() : undefined;
  const message = { type: "wake", requestId: task.id, seq: seq + 1, key: wakeKey } as const;
  const next = { body: encodeQueueMessage(message), group: queueGroupOf(task) };
  if (effects.some(isWake)) {
    await queue.send({ ...next, delayMs: toDelayMs(options, effects) });
  }
  const { lease: _lease, wakeKey: _wakeKey, ...rest } = task;
  const save = (item: Task) =>
    replaceWithUnstored(options, hold, {
      ...item,
      wakeSeq: seq + 1,
      ...(wakeKey !== undefined && { wakeKey }),
    });
  const saved = await save(rest).catch(async (thrown: unknown) => {
    const failed = owe(
      takeFailedStep(options, { task: rest, atMs: now(), thrown: itemErrorIn(thrown) }),
    );
    await queue.send(next);
    const kept = await save(failed.task);
    if (kept !== undefined) reportStep(options, { ...failed, before: rest, operation: "save" });
    return kept;
  });
  if (saved !== undefined) return saved;
  const completed = await takeLateFiles({ store, hold, task: rest });
  return completed && save(completed);
}

/** Saves the record together with the writes of an act. If a condition fails, repeats the act first and saves the record then. */
async function replaceWithUnstored(
  options: StepOptions,
  hold: Hold,
  task: Task,
): Promise<Task | undefined> {
  const { store } = options;
  const item = withStoredRevision(hold, task);
  if (hold.unstored === undefined) return store.replace({ item });
  const writes = [...hold.unstored.writes, { type: "replace", item } as const];
  const isWritten = await store.writeTogether({ writes }).catch((thrown: unknown) => {
    itemErrorIn(thrown);
    return false;
  });
  if (!isWritten) {
    await repeatUnstored(options, hold);
    return store.replace({ item });
  }
  hold.unstored = undefined;
  return { ...item, revision: item.revision + 1 };
}

/** `operation` is the step's last act, for the log line of an answer that cannot be delivered. */
type Report = Taken & { before: Task; operation: string };

/** Reports a step at once under a lease, and otherwise after the next write. */
function reportHeld(options: ActlessOptions, hold: Hold, report: Report): void {
  if (hold.lease === undefined) hold.unreported.push(report);
  else reportStep(options, report);
}

function reportSeen(options: ActlessOptions, { unreported }: Hold): void {
  for (const report of unreported.splice(0)) reportStep(options, report);
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
