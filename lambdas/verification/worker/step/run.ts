/**
 * Runs one step of a task: decides what comes next, stores that with a lease (the claim), runs the act, decides again by its event, and at
 * the end sends the next wake-up and saves the record. A step that would follow at once is run under the same lease, without a wake-up. The
 * order survives a crash at any point.
 */

import type { Act, TaskEvent } from "../../task/events.ts";
import type { Task } from "../../task/task.ts";
import { wake } from "../../task/transition.ts";
import { repeatUnstored, runAct } from "./act.ts";
import { claim } from "./claim.ts";
import { decide } from "./decide.ts";
import { isAct, isAtOnce } from "./effects.ts";
import { InterruptedStep, readLateFiles } from "./lease.ts";
import { reportClaimed, reportStep, spansOf } from "./report.ts";
import { loseLease, save } from "./save.ts";
import { createStepSpan } from "./spans.ts";
import type { Step, StepOptions, StepRequest, StepResult } from "./step.ts";

/**
 * After the lease is claimed, every rejection is an InterruptedStep. Without `runAct` the record notes the step's act (`owed`) for the
 * worker that handles the next wake-up.
 */
export async function runStep(options: StepOptions, request: StepRequest): Promise<StepResult> {
  const first = await begin(options, request);
  if (first === undefined) return "unclaimed";
  reportStep(options, { ...first, operation: "save" });
  const span = createStepSpan(request.task, request.event, options.queueSystem);
  return spansOf(options).within(span, () => runPhases(options, first));
}

/**
 * Decides the first step and claims the lease. No claim is needed if this worker has just created the record and nothing has changed since,
 * or if the first act only reads.
 */
async function begin(options: StepOptions, request: StepRequest): Promise<Step | undefined> {
  const { task, event, record, mayLook, nowMs } = request;
  const move = decide(options, { task, event, atMs: nowMs });
  const step: Step = { ...move, request, record, pendingReports: [], followCount: 0 };
  const isSaved = record !== undefined && step.task === task;
  const isLook = mayLook === true && readOnlyActs.has(step.effects.find(isAct)?.type ?? "send");
  return isSaved || isLook ? step : claim(options, step);
}

/** Runs one phase after the other until nothing is left to do but to save the step. */
async function runPhases(options: StepOptions, first: Step): Promise<StepResult> {
  let step = first;
  try {
    for (;;) {
      const phase = phaseOf(options, step);
      if (phase === "save") return await save(options, step);
      const settled = step.unstoredAct === undefined ? step : await repeatUnstored(options, step);
      const next = await phases[phase](options, settled);
      if (next === undefined) return loseLease(options, step);
      step = next;
    }
  } catch (cause) {
    if (step.record === undefined || cause instanceof InterruptedStep) throw cause;
    throw new InterruptedStep({ leaseUntilMs: step.record.lease.untilMs, cause });
  }
}

/** Each resolves to undefined if another worker has changed the record. */
const phases = { claim: claimOrComplete, act: runAct, follow };

function phaseOf(options: StepOptions, step: Step): keyof typeof phases | "save" {
  const { effects, record } = step;
  const act = options.runAct && effects.find(isAct);
  if (act === undefined) return isAtOnce(effects) && mayFollow(options, step) ? "follow" : "save";
  if (record === undefined) return readOnlyActs.has(act.type) ? "act" : "claim";
  return act.type === "cancel" && isCauseUnstored(step.task, record) ? "claim" : "act";
}

/** Under a lease, the record may have changed by a renewal whose response was lost. */
async function claimOrComplete(options: StepOptions, step: Step): Promise<Step | undefined> {
  const claimed = await claim(options, step);
  if (claimed !== undefined) return claimed;
  const completed = await readLateFiles({ ...options, ...step });
  return completed && claim(options, { ...step, ...completed });
}

/** Acts that only read, so that two workers may run them at once. */
const readOnlyActs: ReadonlySet<Act["type"]> = new Set(["poll", "check_thread"]);

/** True if only this step knows why it cancels the task. Afterwards the host says no more than that the task was canceled. */
function isCauseUnstored({ outcome, cancelReason }: Task, record: Task): boolean {
  const isOutcomeUnstored = outcome !== undefined && record.outcome === undefined;
  return isOutcomeUnstored || cancelReason !== record.cancelReason;
}

/** The share of the lease after which no further step follows, so that each act has at least half of the lease. */
const followShare = 0.4;
/** The limit of steps that follow, in case a state leads to itself at once. */
const maxFollowing = 12;

function mayFollow(options: StepOptions, { request, followCount }: Step): boolean {
  const { runAct: canAct, leaseMs, now = Date.now } = options;
  const hasTime =
    request.signal?.aborted !== true && now() - request.nowMs <= leaseMs * followShare;
  return canAct !== undefined && hasTime && followCount < maxFollowing;
}

/** Acts that can be repeated by a worker that finds the record from before the step, so that it need not be stored before them. */
const repeatableActs: ReadonlySet<Act["type"]> = new Set(["prepare", "join_thread"]);

/** Goes on with the step that a wake-up without a delay would begin. Claims the lease if its act cannot be repeated. */
async function follow(options: StepOptions, step: Step): Promise<Step | undefined> {
  const { store, now = Date.now } = options;
  const { task, record } = step;
  const event: TaskEvent = { type: "woken", nowMs: now(), workerDied: false };
  const move = decide(options, { task, event, atMs: event.nowMs });
  const following = { ...step, ...move, followCount: step.followCount + 1 };
  const isRepeatable = following.effects.every(
    (effect) => !isAct(effect) || repeatableActs.has(effect.type),
  );
  const claimed = isRepeatable ? following : await claim(options, following);
  if (claimed !== undefined) return reportClaimed(options, claimed, "save");
  const completed = await readLateFiles({ store, record, task });
  return completed && { ...following, ...completed, effects: [wake(0)], event };
}
