/** One step of a task whose lease is held: its acts, the next wake-up, and the record, in an order that no crash can break. */
import { ItemError } from "../../shared/engine/item-json.ts";
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log, LogFields } from "../../shared/log.ts";
import { noMetrics } from "../../shared/telemetry/metrics.ts";
import { noSpans, type Spans } from "../../shared/telemetry/spans.ts";
import type { Telemetry } from "../../shared/telemetry/telemetry.ts";
import { traceIdOf } from "../../shared/trace.ts";
import type { TaskEffect, TaskEvent } from "../task/events.ts";
import { withHistory } from "../task/history.ts";
import { next } from "../task/machine.ts";
import type { Policy } from "../task/policy.ts";
import type { Step } from "../task/step.ts";
import { queueGroupOf, type Task } from "../task/task.ts";
import type { Act, RunAct } from "./acts.ts";
import type { HandleGreet } from "./greet.ts";
import { InterruptedStep } from "./interrupted-step.ts";
import { countStep, isGivenUp } from "./measured.ts";
import type { HandlePress } from "./press.ts";
import { causeKindOf } from "./pure-step.ts";
import { deliverySpan, type QueueSystem, stepSpan, tellWhole } from "./step-spans.ts";
import type { Threads } from "./threads.ts";
import type { Observation } from "./worker.ts";

export type WorkerOptions = {
  store: TaskStore<Task>;
  queue: TaskQueue;
  policy: Policy;
  runAct: RunAct;
  /** Whether the bot was asked in the message's thread before it: only there it answers what does not mention it. */
  isKnownThread: Threads["isKnown"];
  press: HandlePress;
  greet: HandleGreet;
  /** Always shorter than the queue's visibility timeout; an act is ended by its signal a tenth earlier. */
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

type Claimed = {
  /** The task as it was read, with what is to happen to it. */
  task: Task;
  event: TaskEvent;
  seq: number;
  nowMs: number;
  signal: AbortSignal | undefined;
};

/** False where someone else was first: the record then says what is to be done. Rejects with an InterruptedStep once it is claimed. */
export async function runStep(options: WorkerOptions, { task, event, seq, nowMs, signal }: Claimed): Promise<boolean> {
  const { store, leaseMs, newId } = options;
  const lease = { owner: newId(), untilMs: nowMs + leaseMs };
  const claim = ({ task: item }: Taken) => store.replace({ item: { ...item, lease } });
  let first = takeStep(options, { task, event, atMs: nowMs });
  const claimed = await claim(first).catch((thrown: unknown) => {
    first = takeFailedStep(options, { task, atMs: nowMs, thrown: itemErrorIn(thrown) });
    return claim(first);
  });
  if (claimed === undefined) return false;
  observe(options, first.event, claimed, first.effects);
  countStep({ metrics: metricsOf(options), before: task, event: first.event, task: claimed });
  const spans = spansOf(options);
  const run = async () => {
    const last = await runEffects(options, { task: claimed, effects: first.effects }, signal);
    if (await finishStep(options, last, seq)) tellWhole({ spans, before: task, task: last.task });
  };
  try {
    await spans.within(stepSpan({ task, event, system: options.queueSystem }), run);
  } catch (cause) {
    throw new InterruptedStep({ leaseUntilMs: lease.untilMs, cause });
  }
  return true;
}

type Taken = Step & { event: TaskEvent };

/** Where the machine itself fails on the task's data, the task ends: it would fail again at every try. */
function takeStep(
  options: WorkerOptions,
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
  options: WorkerOptions,
  { task, atMs, thrown }: { task: Task; atMs: number; thrown: unknown },
): Taken {
  return takeStep(options, { task, event: { type: "step_failed", nowMs: atMs, causeKind: causeKindOf(thrown) }, atMs });
}

/** Throws what is the store's own failure. */
function itemErrorIn(thrown: unknown): ItemError {
  if (thrown instanceof ItemError) return thrown;
  throw thrown;
}

/** Runs acts until a step asks for none; what is left is at most a wake-up. Each act's signal ends before the lease does. */
async function runEffects(options: WorkerOptions, first: Step, stop: AbortSignal | undefined): Promise<Step> {
  const { runAct, leaseMs, log, now = Date.now } = options;
  const spans = spansOf(options);
  const deadline = AbortSignal.timeout(Math.floor(leaseMs * 0.9));
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  let { task, effects } = first;
  for (let act = effects.find(isAct); act !== undefined; act = effects.find(isAct)) {
    const request = { act, task, signal };
    const told = await (act.type === "deliver" ? runDelivery({ spans, runAct, request }) : runAct(request));
    const before = task;
    const step = takeStep(options, { task, event: told, atMs: now() });
    const { event } = step;
    ({ task, effects } = step);
    const isFailed = event.type === "slack_failed" || event.type === "step_failed";
    if (isFailed && isGivenUp({ before, task })) {
      const reason = event.type === "slack_failed" ? event.kind : "internal";
      log.error("answer_not_delivered", { ...idsOf(task), operation: act.type, reason });
    }
    observe(options, event, task, effects);
    countStep({ metrics: metricsOf(options), before, event, task });
  }
  if (effects.some((effect) => effect.type === "stop_session")) await runAct.stopSession({ task, signal });
  return { task, effects };
}

function runDelivery(delivery: { spans: Spans; runAct: RunAct; request: Parameters<RunAct>[0] }): Promise<TaskEvent> {
  const { spans, runAct, request } = delivery;
  return spans.within(deliverySpan(request.task), async (span) => {
    const event = await runAct(request);
    if (event.type === "slack_failed") span.fail(event.kind);
    return event;
  });
}

/**
 * Wake-up first, record second, and only then is the message finished: a crash in between leaves one chain that goes on.
 * False where the lease was over, and somebody else has gone on.
 */
async function finishStep(options: WorkerOptions, { task, effects }: Step, seq: number): Promise<boolean> {
  const { store, queue, log, now = Date.now, random = Math.random } = options;
  const wake = effects.find((effect) => effect.type === "wake");
  if (wake !== undefined) {
    const body = JSON.stringify({ type: "wake", requestId: task.id, seq: seq + 1 });
    const delayMs = wake.delayMs + Math.floor(random() * (wake.jitterMs ?? 0));
    await queue.send({ body, delayMs, group: queueGroupOf(task) });
  }
  const { lease: _lease, ...rest } = task;
  const save = (item: Task) => store.replace({ item: { ...item, wakeSeq: seq + 1 } });
  const saved = await save(rest).catch(async (thrown: unknown) => {
    const failed = takeFailedStep(options, { task: rest, atMs: now(), thrown: itemErrorIn(thrown) });
    await queue.send({
      body: JSON.stringify({ type: "wake", requestId: task.id, seq: seq + 1 }),
      group: queueGroupOf(task),
    });
    return save(failed.task);
  });
  if (saved === undefined) log.warn("lease_lost", { ...idsOf(task), seq });
  return saved !== undefined;
}

function observe({ observe: watch, log }: WorkerOptions, event: TaskEvent, task: Task, effects: TaskEffect[]): void {
  log.info("task_step", {
    ...idsOf(task),
    event: event.type,
    state: task.state,
    effect: effects.map((effect) => effect.type).join(","),
    ...(event.type === "call_failed" ? { reason: event.error.reason } : {}),
    ...(event.type === "slack_failed" ? { reason: event.kind } : {}),
  });
  watch?.({ requestId: task.id, event, task, effects });
}

function metricsOf({ telemetry }: WorkerOptions) {
  return telemetry?.metrics ?? noMetrics;
}

function spansOf({ telemetry }: WorkerOptions): Spans {
  return telemetry?.spans ?? noSpans;
}

function idsOf({ id, taskId, trace }: Task): LogFields {
  return { request_id: id, task_id: taskId, trace_id: traceIdOf(trace) };
}

function isAct(effect: TaskEffect): effect is Act {
  return effect.type !== "wake" && effect.type !== "stop_session";
}
