/** Events that may meet a task in every state: a dead letter, a failure of our own code, an operator's wish that it goes on. */
import * as z from "zod";
import { markReplyInDoubt } from "./asking.ts";
import { continueDelivery, giveUpDelivery, onCleanedUp, planCleanup, replaceAnswer } from "./delivering.ts";
import type { EventOf } from "./events.ts";
import { isPerhapsForNobody } from "./received.ts";
import type { Policy } from "./routing.ts";
import {
  advance,
  afterDeadLetterMs,
  ambiguousOutcome,
  graceMs,
  internalOutcome,
  isOutdated,
  isPastDeadline,
  markForReconcile,
  setOutcome,
  type Transition,
  wake,
} from "./step.ts";
import { callSchema, receivedTask, type Task, type TaskOutcome, taskSchema } from "./task.ts";
import { markStreamInDoubt } from "./waiting.ts";

/**
 * Before the outcome is known, the failure is the outcome: it is in the record before the host is asked to cancel what may be
 * running there, and whatever that comes to, the user is told. But a task that only waits, for its turn or its result, has
 * until its deadline, whatever was out of reach meanwhile. So has a message that does not mention the bot, until it is known
 * whether the bot is to answer it. A delivery is taken up again later.
 */
export function onDeadLettered(entered: Task, { nowMs }: EventOf<"dead_lettered">, policy: Policy): Transition {
  // A dead letter is all that is heard of workers that failed or died: whatever they were doing may be done.
  const task = markInterrupted(entered, { nowMs, policy });
  const { state, cleanupDone, message } = task;
  const isOpen =
    (state === "received" && message.unaddressed === true) ||
    (state === "queued" && !isOutdated(task, nowMs)) ||
    (state === "waiting" && !isPastDeadline(task, nowMs - graceMs)) ||
    (state === "asking" && task.question !== undefined && nowMs < task.question.expiresAtMs) ||
    state === "delivering" ||
    (state === "done" && !cleanupDone);
  if (isOpen) return { task, effects: [wake(afterDeadLetterMs)] };
  if (state === "done") return { task, effects: [] };
  // An announcement may have been made by a worker that died of it.
  const step = setOutcome(task, mayRun(task) ? ambiguousOutcome : internalOutcome, { reconcile: true });
  return mayRun(task) ? { ...step, effects: [{ type: "cancel" }] } : step;
}

/** The record after its worker failed or died in the middle of a step: what the step may have done is marked as in doubt. */
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

/** Whether the agent may be at work. */
function mayRun({ state }: Task): boolean {
  return state === "sent" || state === "waiting" || state === "asking";
}

/** Outcomes that a person was told alone, at most once in a while. */
const privateOutcomes: ReadonlySet<TaskOutcome["type"]> = new Set(["refused", "limited", "not_yours"]);

/**
 * Only the delivery of a task that has ended is repeated: of a failure, or of an answer that is still in the record because the
 * cleanup is to come or the answer was never delivered.
 */
export function onRedrivenDone(task: Task, { nowMs }: EventOf<"redriven">, policy: Policy): Transition {
  const hasNothingToTell = task.outcome === undefined || privateOutcomes.has(task.outcome.type);
  if (hasNothingToTell) return { task, effects: planCleanup(task, policy) };
  const delivery = { ...task.delivery, status: "posting" } as const;
  const again = markForReconcile(advance(task, { state: "delivering", delivery, cleanupDone: false }));
  return continueDelivery(again, { nowMs, reconcile: true, policy });
}

/**
 * Our own code failed on the task's data. Every try would fail again, so the task ends in words. An outcome that cannot be shown is
 * replaced by words of ours, which depend on no data. Where even those fail, the delivery is given up. Like a dead letter, a task
 * that may be at work is canceled at its host.
 */
export function onStepFailed(task: Task): Transition {
  const { state, outcome } = task;
  if (state === "received" && isPerhapsForNobody(task)) return giveUpDelivery(task);
  if (state === "done") return onCleanedUp(task);
  if (state === "delivering") {
    return outcome?.type === "failed" && outcome.insteadOfAnswer ? giveUpDelivery(task) : replaceAnswer(task);
  }
  // What was posted before is looked for.
  const step = setOutcome(task, internalOutcome, { reconcile: true });
  return mayRun(task) ? { ...step, effects: [{ type: "cancel" }] } : step;
}

const { shape } = taskSchema;
const { shape: callShape } = callSchema;

/** Without these nobody knows where the words would go, or whether they are there. */
const coreSchema = taskSchema.pick({
  id: true,
  revision: true,
  expiresAtMs: true,
  wakeSeq: true,
  receivedAtMs: true,
  trace: true,
  message: true,
});

/** What helps to end it, as far as it can be read. */
const restSchema = z.object({
  state: shape.state.catch("received"),
  lease: shape.lease.catch(undefined),
  retryOf: shape.retryOf.catch(undefined),
  call: z
    .object({
      destination: callShape.destination,
      // A host that needs no session can be asked to cancel all the same.
      sessionId: callShape.sessionId.catch(""),
      taskId: callShape.taskId.catch(undefined),
    })
    .optional()
    .catch(undefined),
  locale: shape.locale.catch(undefined),
  place: shape.place.catch(undefined),
  placeholder: z
    .object({ ts: z.string(), postedAtMs: z.int().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  stream: shape.stream.catch(undefined),
  cleanupDone: shape.cleanupDone.catch(false),
  textsErased: shape.textsErased.catch(undefined),
});

/** As much of a record as can still be read, to end its task with. Undefined where nobody could be told. */
export function salvageTask(json: unknown): Task | undefined {
  const core = coreSchema.safeParse(json).data;
  const rest = restSchema.safeParse(json).data;
  if (core === undefined || rest === undefined) return undefined;
  const { id: requestId, receivedAtMs, trace, message } = core;
  const { call, placeholder, ...others } = rest;
  const known = Object.fromEntries(Object.entries(others).filter(([, member]) => member !== undefined));
  return {
    ...receivedTask({ type: "ask", requestId, receivedAtMs, trace, message }),
    ...known,
    ...(call && { call: { ...call, arrival: "none" } }),
    ...(placeholder && { placeholder: { ...placeholder, postedAtMs: placeholder.postedAtMs ?? receivedAtMs } }),
    ...core,
  };
}
