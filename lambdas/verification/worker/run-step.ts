/**
 * Runs one step of a task: claims its lease, runs the acts, sends the next wake-up and saves the record. The order survives a crash at any
 * point. The errors and fallback texts that keep a task's broken data from blocking the queue are here too.
 */

import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import { ItemError } from "../../shared/engine/records.ts";
import type { Log, LogFields } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Telemetry } from "../../shared/telemetry/telemetry.ts";
import { noMetrics, noSpans, readTraceId, type SpanStart, type Spans } from "../../shared/telemetry/telemetry.ts";
import type { Gate } from "../gate/gate.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { Act, TaskEffect, TaskEvent } from "../task/events.ts";
import { next } from "../task/machine.ts";
import type { TaskMessage } from "../task/messages.ts";
import type { Policy } from "../task/routing.ts";
import { type Transition, wake, withHistory } from "../task/step.ts";
import { type AgentQuestion, queueGroupOf, type Task } from "../task/task.ts";
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

type Claimed = {
  /** The task as it was read. */
  task: Task;
  event: TaskEvent;
  seq: number;
  nowMs: number;
  signal: AbortSignal | undefined;
};

/**
 * Resolves to false if another worker was first. After the lease is claimed, every rejection is an InterruptedStep. Without `runAct` the
 * record notes the step's act (`owed`) for the worker that handles the next wake-up.
 */
export async function runStep(options: StepOptions, { task, event, seq, nowMs, signal }: Claimed): Promise<boolean> {
  const { store, leaseMs, newId } = options;
  const lease = { owner: newId(), untilMs: nowMs + leaseMs };
  const claim = ({ task: item }: Taken) => store.replace({ item: { ...item, lease } });
  const owedIf = (taken: Taken) => (options.runAct === undefined ? owe(taken) : taken);
  let first = owedIf(takeStep(options, { task, event, atMs: nowMs }));
  const claimed = await claim(first).catch((thrown: unknown) => {
    first = owedIf(takeFailedStep(options, { task, atMs: nowMs, thrown: itemErrorIn(thrown) }));
    return claim(first);
  });
  if (claimed === undefined) return false;
  reportStep(options, { ...first, before: task, task: claimed, operation: "save" });
  const spans = spansOf(options);
  try {
    await spans.within(createStepSpan(task, event, options.queueSystem), async () => {
      const last = await runEffects(options, { task: claimed, effects: first.effects }, signal);
      const saved = await finishStep(options, last, seq);
      if (saved !== undefined) recordTaskSpan({ spans, before: task, task: saved });
    });
  } catch (cause) {
    throw new InterruptedStep({ leaseUntilMs: lease.untilMs, cause });
  }
  return true;
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

/** Runs acts until the machine returns none. Each act's signal aborts before the lease ends. */
async function runEffects(options: StepOptions, first: Transition, stop: AbortSignal | undefined): Promise<Transition> {
  const { runAct, leaseMs, now = Date.now } = options;
  if (runAct === undefined) return first;
  const spans = spansOf(options);
  const deadline = AbortSignal.timeout(Math.floor(leaseMs * 0.9));
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  let { task, effects } = first;
  for (let act = effects.find(isAct); act !== undefined; act = effects.find(isAct)) {
    const request = { act, task, signal };
    const result = await (act.type === "deliver" ? runDelivery(spans, runAct, request) : runAct(request));
    const before = task;
    const step = takeStep(options, { task, event: result, atMs: now() });
    ({ task, effects } = step);
    reportStep(options, { ...step, before, operation: act.type });
  }
  if (effects.some((effect) => effect.type === "stop_session")) await runAct.stopSession({ task, signal });
  return { task, effects };
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
  const { store, queue, log, now = Date.now, random = Math.random } = options;
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
  if (saved === undefined) log.warn("lease_lost", { ...idsOf(task), seq });
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

/** Sekisho's own pure code failed on a task's data. Unlike a failure of a service, every retry would fail too. */
class PureStepError extends Error {
  constructor(cause: unknown) {
    super("Pure code failed on the data of a task.", { cause });
    this.name = "PureStepError";
  }
}

/** Turns every error of `run` into a PureStepError. */
export function pureStep<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new PureStepError(cause);
  }
}

/**
 * True if the task's data caused the error, so that every retry would fail. A stack or a text that grew too long counts too; the message is
 * checked because V8 also throws a RangeError for a shortage of memory, which is temporary. An ItemError of an act does not count, because
 * it belongs to another record, such as the allowlist, which may be repaired.
 */
export function isDataFailure(thrown: unknown): boolean {
  if (thrown instanceof PureStepError) return true;
  return thrown instanceof RangeError && /call stack|string length|array length/i.test(thrown.message);
}

/** The class of the underlying error for the log, never its message. */
export function causeKindOf(thrown: unknown): string {
  const cause = thrown instanceof PureStepError || thrown instanceof ItemError ? thrown.cause : thrown;
  return errorKind(cause);
}

/**
 * Wraps the texts for people so that broken data cannot make them fail. A placeholder, question, opening or status that cannot be shown
 * with the task's texts is shown without them. An outcome has no such fallback: it throws a PureStepError, and the task machine
 * replaces it.
 */
export function createSafeText(text: TaskText): TaskText {
  return {
    placeholder: (task) => withFallback(text.placeholder, task, withoutTexts(task)),
    question: ({ task, nowMs }) => withFallback(text.question, { task, nowMs }, { task: withoutTexts(task), nowMs }),
    opening: (task) => withFallback(text.opening, task, withoutTexts(task)),
    status: (task) => withFallback(text.status, task, withoutTexts(task)),
    parts: (task) => pureStep(() => text.parts(task)),
    replaced: text.replaced,
    buttonClickRefused: text.buttonClickRefused,
  };
}

function withFallback<A, R>(show: (about: A) => R, about: A, fallback: A): R {
  try {
    return show(about);
  } catch {
    return pureStep(() => show(fallback));
  }
}

function withoutTexts({ progress: _, question, message, ...task }: Task): Task {
  return { ...task, message: { ...message, text: "" }, ...(question && { question: withoutText(question) }) };
}

function withoutText({ answer, ...question }: AgentQuestion): AgentQuestion {
  return { ...question, prompt: "", options: [], ...(answer && { answer: { ...answer, text: undefined } }) };
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
