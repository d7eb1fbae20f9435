/** Recovery from a dead letter, a failure of Sekisho's own code, and a record that is only partly readable. Also an operator's redrive. */
import * as z from "zod";
import { markReplyInDoubt } from "./asking.ts";
import {
  continueDelivery,
  giveUpDelivery,
  onCleanedUp,
  replaceAnswer,
  scheduleCleanup,
} from "./delivering.ts";
import type { EventOf } from "./events.ts";
import { afterDeadLetterMs } from "./failures.ts";
import type { Policy } from "./routing.ts";
import { callSchema, receivedTask, type Task, type TaskOutcome, taskSchema } from "./task.ts";
import { graceMs, isOutdated, isPastDeadline } from "./time-limits.ts";
import {
  advance,
  ambiguousOutcome,
  internalOutcome,
  markForReconcile,
  setOutcome,
  type Transition,
  wake,
} from "./transition.ts";
import { isSilent } from "./unsent.ts";
import { markStreamInDoubt } from "./waiting.ts";

/**
 * Fails a task that has no outcome. The failure is in the record before the host is asked to cancel, so the user sees it in any case. A
 * task that only waits for its turn, its result or a reply keeps its time. A message without a mention, or of another app, waits until it is
 * known whether the bot should answer. A delivery is retried later.
 */
export function onDeadLettered(
  enteredTask: Task,
  { nowMs }: EventOf<"dead_lettered">,
  policy: Policy,
): Transition {
  // The worker that failed or died may have completed its act.
  const task = markInterrupted(enteredTask, { nowMs, policy });
  const { state, cleanupDone, message } = task;
  const isOpen =
    (state === "received" && (message.unaddressed === true || isSilent(task))) ||
    (state === "queued" && !isOutdated(task, nowMs)) ||
    (state === "waiting" && !isPastDeadline(task, nowMs - graceMs)) ||
    (state === "asking" && task.question !== undefined && nowMs < task.question.expiresAtMs) ||
    state === "delivering" ||
    (state === "done" && !cleanupDone);
  if (isOpen) return { task, effects: [wake(afterDeadLetterMs)] };
  if (state === "done") return { task, effects: [] };
  // A worker may have died after it posted the placeholder.
  const step = setOutcome(task, mayRun(task) ? ambiguousOutcome : internalOutcome, {
    reconcile: true,
  });
  return mayRun(task) ? { ...step, effects: [{ type: "cancel" }] } : step;
}

/** Marks the possible effects of a step whose worker failed or died as in doubt. */
function markInterrupted(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  switch (task.state) {
    case "waiting":
      return markStreamInDoubt(task, policy);
    case "asking":
      return markForReconcile(markReplyInDoubt(task, nowMs));
    case "received":
    case "delivering":
      return markForReconcile(task);
    default:
      return task;
  }
}

/** True if the agent may be at work. */
function mayRun({ state }: Task): boolean {
  return state === "sent" || state === "waiting" || state === "asking";
}

/** Outcomes that were shown privately, within a limit. */
const privateOutcomes: ReadonlySet<TaskOutcome["type"]> = new Set([
  "refused",
  "limited",
  "not_yours",
]);

/**
 * Repeats the delivery of a task that has ended: of a failure, or of an answer that is still in the record because the cleanup is not done
 * or the answer was never delivered.
 */
export function onRedrivenDone(
  task: Task,
  { nowMs }: EventOf<"redriven">,
  policy: Policy,
): Transition {
  const hasNothingToTell = task.outcome === undefined || privateOutcomes.has(task.outcome.type);
  if (hasNothingToTell) return { task, effects: scheduleCleanup(task, policy) };
  const delivery = { ...task.delivery, status: "posting" } as const;
  const again = markForReconcile(
    advance(task, { state: "delivering", delivery, cleanupDone: false }),
  );
  return continueDelivery(again, { nowMs, reconcile: true, policy });
}

/**
 * Fails the task, because Sekisho's own code failed on its data and every retry would fail too. An outcome that cannot be shown is replaced
 * by a text that depends on no data. If even that fails, the delivery is given up. A task that may be running is canceled at its host.
 */
export function onStepFailed(task: Task): Transition {
  const { state, outcome } = task;
  if (state === "received" && isSilent(task)) return giveUpDelivery(task);
  if (state === "done") return onCleanedUp(task);
  if (state === "delivering") {
    return outcome?.type === "failed" && outcome.insteadOfAnswer
      ? giveUpDelivery(task)
      : replaceAnswer(task);
  }
  // With `reconcile`, because the failed step may have posted.
  const step = setOutcome(task, internalOutcome, { reconcile: true });
  return mayRun(task) ? { ...step, effects: [{ type: "cancel" }] } : step;
}

const { shape } = taskSchema;
const { shape: callShape } = callSchema;

/** The fields without which no message can be posted. */
const coreSchema = taskSchema.pick({
  id: true,
  revision: true,
  expiresAtMs: true,
  wakeSeq: true,
  receivedAtMs: true,
  trace: true,
  message: true,
});

/** The fields that help to end the task, as far as each can be read. */
const restSchema = z.object({
  state: shape.state.catch("received"),
  lease: shape.lease.catch(undefined),
  retryOf: shape.retryOf.catch(undefined),
  call: z
    .object({
      destination: callShape.destination,
      // A host that needs no session can still cancel the task.
      sessionId: callShape.sessionId.catch(""),
      taskId: callShape.taskId.catch(undefined),
    })
    .optional()
    .catch(undefined),
  locale: shape.locale.catch(undefined),
  threadRef: shape.threadRef.catch(undefined),
  placeholder: z
    .object({ ts: z.string(), postedAtMs: z.int().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  stream: shape.stream.catch(undefined),
  cleanupDone: shape.cleanupDone.catch(false),
  textsErased: shape.textsErased.catch(undefined),
});

/** Returns the readable part of a broken record, so that its task can be ended, or undefined if no message could be posted. */
export function salvageTask(json: unknown): Task | undefined {
  const core = coreSchema.safeParse(json).data;
  const optionalMembers = restSchema.safeParse(json).data;
  if (core === undefined || optionalMembers === undefined) return undefined;
  const { id: requestId, receivedAtMs, trace, message } = core;
  const { call, placeholder, ...others } = optionalMembers;
  const readableMembers = Object.fromEntries(
    Object.entries(others).filter(([, member]) => member !== undefined),
  );
  return {
    ...receivedTask({ requestId, receivedAtMs, trace, message }),
    ...readableMembers,
    ...(call && { call: { ...call, arrival: "none" } }),
    ...(placeholder && {
      placeholder: { ...placeholder, postedAtMs: placeholder.postedAtMs ?? receivedAtMs },
    }),
    ...core,
  };
}
