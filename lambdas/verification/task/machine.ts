/** The task machine: what a task does next. A pure function of the record and one event; the interpreter runs its effects. */

import { answerInDoubt, asked, asks, questionShown, stillAsks, wokenAsking } from "./asking.ts";
import { callFailed } from "./call-failures.ts";
import { cancelAsked, canceled, end, notEnding, shareRefused, uploaded, wokenDelivering } from "./ending.ts";
import type { TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { atWork, progressShown, streamInDoubt } from "./progress.ts";
import {
  answerGiven,
  begin,
  charged,
  hasContext,
  isOutdated,
  joinThread,
  messageRead,
  permitted,
  prepared,
  received,
  refusalTold,
  threadCanceled,
  threadFull,
  threadOpened,
  withParams,
} from "./received.ts";
import { hasMoved, sending } from "./routing.ts";
import { inKnownSession } from "./session.ts";
import { slackFailed, stepFailed } from "./slack-failures.ts";
import {
  advance,
  afterDeadLetterMs,
  endCleanup,
  failed,
  graceMs,
  isPastDeadline,
  markForReconcile,
  nextPoll,
  onThreadReleased,
  releaseThread,
  resetFailures,
  type Step,
  setOutcome,
  turnDelay,
  waited,
  wake,
} from "./step.ts";
import { leftOutCountOf, type Outcome, type Task, tokensOf } from "./task.ts";

type Given<E extends TaskEvent["type"]> = { task: Task; event: Extract<TaskEvent, { type: E }>; policy: Policy };

/**
 * The next record and what to do. The record is to be stored before the first act of a step is begun: so it says `sent`
 * before anything is sent. All other acts can be repeated by whoever finds the record as it was before them.
 */
export function next({ task, event, policy }: { task: Task; event: TaskEvent; policy: Policy }): Step {
  switch (event.type) {
    case "woken":
      return woken({ task, event, policy });
    case "permitted":
      return permitted(task, { event, policy });
    case "refusal_told":
      return refusalTold(task);
    case "answer_given":
      return answerGiven(task, { event, policy });
    case "charged":
      return charged(task, { event, policy });
    case "thread_opened":
      return { task: threadOpened(task, event), effects: [wake(0)] };
    case "lined_up":
      return linedUp({ task, event, policy });
    case "thread_full":
      return threadFull(task);
    case "announced":
      return announced({ task, event, policy });
    case "prepared":
      return prepared(task, { event, policy });
    case "file_refused":
      return setOutcome(task, event.outcome);
    case "answered":
      return answered({ task, event, policy });
    case "call_failed":
      return callFailed({ task, event, policy });
    case "busy":
      return busy(task, event);
    case "progress_shown":
      return progressShown(task, { ...event, policy });
    case "thread_held":
      return { task, effects: [{ type: "ask_question", reconcile: task.reconcile === true }] };
    case "question_asked":
      return asked(task, event);
    case "question_shown":
      return questionShown(task, event);
    case "cancel_asked":
      return cancelAsked({ task, event, policy });
    case "canceled":
      return canceled(task);
    case "message_read":
      return messageRead(task, { event, policy });
    case "thread_canceled":
      return threadCanceled(task, event);
    case "uploaded":
      return uploaded(task, event);
    case "delivered":
      return releaseThread(advance(task, { state: "done" }));
    case "share_refused":
      return shareRefused(task);
    case "left_thread":
      return onThreadReleased(task, policy);
    case "swept":
      return { task: endCleanup(task), effects: [] };
    case "slack_failed":
      return slackFailed({ task, event, policy });
    case "step_failed":
      return stepFailed(task);
    case "dead_lettered":
      return deadLettered({ task, event, policy });
    case "redriven":
      return redriven({ task, event, policy });
  }
}

/** Its time is over before there was anybody who took it. */
const neverTaken = failed({ reason: "unavailable", lost: false });
/** The destination leads elsewhere by now, so that nobody can be asked. */
const perhapsTaken = failed({ reason: "ambiguous", lost: false });

function woken({ task, event, policy }: Given<"woken" | "redriven">): Step {
  const { nowMs, resumed } = event;
  if (task.owed !== undefined) {
    // Out of the record before it is done, so that an act that kills its worker is not done again.
    const { owed, ...rest } = task;
    return { task: rest, effects: [{ type: owed }] };
  }
  const reconcile = resumed || task.reconcile === true;
  switch (task.state) {
    case "received":
      return received({ task, resumed });
    case "queued":
      if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
      return joinThread(task, policy);
    case "announced":
      if (isPastDeadline(task, nowMs)) return setOutcome(task, neverTaken);
      return ready(task, { nowMs, policy });
    case "sent": {
      if (task.cancelReason !== undefined) return { task, effects: [{ type: "cancel" }] };
      // In doubt it is looked up before anything is sent again, however late it is: the agent may be at work.
      const inDoubt = resumed || task.mayHaveArrived;
      if (inDoubt) return { task: { ...task, mayHaveArrived: true }, effects: [{ type: "poll", by: "request_id" }] };
      // A host that could not take it may have taken it down all the same: what is given up is not to begin later.
      if (isPastDeadline(task, nowMs)) {
        const outcome = task.pinnedDestination && hasMoved(task, policy) ? perhapsTaken : neverTaken;
        return { ...setOutcome(task, outcome), effects: [{ type: "cancel" }] };
      }
      return sending(task, { nowMs, policy });
    }
    case "waiting": {
      // However it goes on: a worker that died may have begun a stream.
      const known = resumed ? streamInDoubt(task, policy) : task;
      if (task.cancelReason !== undefined) return { task: known, effects: [{ type: "cancel" }] };
      if (isPastDeadline(task, nowMs - graceMs)) return end(known, "deadline");
      return {
        task: { ...known, polls: task.polls + 1, polledAtMs: nowMs },
        effects: [{ type: "poll", by: "task_id" }],
      };
    }
    case "asking":
      return wokenAsking(task, { nowMs, resumed, policy });
    case "delivering":
      return wokenDelivering(task, { nowMs, reconcile, policy });
    case "done":
      return { task, effects: task.cleanupDone ? [] : [{ type: "sweep" }] };
  }
}

/** What is to be sent is in the record before it is sent. */
function ready(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  if (task.params !== undefined) return sending(advance(task, {}), { nowMs, policy });
  if (hasContext(task)) return { task, effects: [{ type: "prepare" }] };
  return sending(advance(withParams(task, { context: {}, policy }), {}), { nowMs, policy });
}

/** Its time begins when nobody is before it. A task that waited has been announced already. */
function linedUp({ task, event: { queuePosition, freeAtMs, nowMs }, policy }: Given<"lined_up">): Step {
  const placed = { ...task, queuePosition };
  const ready = queuePosition === 0 ? begin(placed, { nowMs, policy }) : placed;
  if (task.state === "received") {
    return { task: ready, effects: [{ type: "announce", reconcile: task.reconcile === true }] };
  }
  if (queuePosition > 0) return { task: placed, effects: [wake(turnDelay({ freeAtMs, nowMs }))] };
  // The placeholder said that it waits.
  return { task: advance(ready, { state: "announced" }), effects: [{ type: "show_progress" }] };
}

function announced({ task, event: { ts, nowMs } }: Given<"announced">): Step {
  const shown = { placeholderTs: ts, announcedAtMs: nowMs };
  if (task.queuePosition === 0) return { task: advance(task, { ...shown, state: "announced" }), effects: [wake(0)] };
  // It looks once more at once: the one before it may have left meanwhile, and knew of nobody to tell.
  return { task: advance(task, { ...shown, state: "queued" }), effects: [wake(0)] };
}

/** Nothing was tried, so nothing counts as a failure; what was certainly not sent still was not. */
function busy(task: Task, { delayMs }: Extract<TaskEvent, { type: "busy" }>): Step {
  if (task.state === "delivering") return { task, effects: [wake(0)] };
  // The time of the next poll has passed: kept, it would look as if that poll were due now.
  const { nextPollAtMs: _passed, ...later } = task;
  return { task: later, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 4) })] };
}

function answered({ task: entered, event: { act, nowMs, result }, policy }: Given<"answered">): Step {
  const before = inKnownSession(entered);
  const isAsking = before.state === "asking";
  const task = isAsking && result.status !== "input_required" ? waited(before, nowMs) : before;
  if (result.status === "success") {
    const { response_text: text, artifacts = [], usage } = result;
    const tokens = tokensOf(usage);
    const leftOut = leftOutCountOf(result);
    return setOutcome(task, {
      type: "answer",
      text,
      ...(artifacts.length > 0 && { artifacts }),
      ...(leftOut > 0 && { leftOut }),
      ...(tokens && { tokens }),
    });
  }
  if (task.cancelReason !== undefined) return notEnding(task, task.cancelReason);
  if (result.status === "input_required") {
    return isAsking ? stillAsks(task, { act, result, nowMs, policy }) : asks(task, { result, nowMs, policy });
  }
  if (task.state === "waiting")
    return atWork({ ...resetFailures(task), taskId: result.task_id }, { result, nowMs, policy });
  const { params: _params, ...sent } = task;
  const waiting = advance(sent, {
    state: "waiting",
    taskId: result.task_id,
    pollAfterMs: result.poll_after_ms,
    // The person who just replied is not to wait as long as for a task that has been at work since the question was asked.
    ...(isAsking && { workStartedAtMs: nowMs }),
  });
  return nextPoll(waiting, { nowMs, policy });
}

/**
 * Before the outcome is known, the failure is the outcome: it is in the record before the host is asked to cancel what may be
 * running there, and whatever that comes to, the user is told. But a task that only waits, for its turn or its result, has
 * until its deadline, whatever was out of reach meanwhile. So has a message that does not mention the bot, until it is known
 * whether the bot is to answer it. A delivery is taken up again later.
 */
function deadLettered({ task: entered, event: { nowMs }, policy }: Given<"dead_lettered">): Step {
  // A dead letter is all that is heard of workers that failed or died: whatever they were doing may be done.
  const task = interrupted(entered, { nowMs, policy });
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
  const mayRun = state === "sent" || state === "waiting" || state === "asking";
  const outcome = failed({ reason: mayRun ? "ambiguous" : "internal", lost: false });
  // An announcement may have been made by a worker that died of it.
  const step = setOutcome(task, outcome, { reconcile: true });
  return mayRun ? { ...step, effects: [{ type: "cancel" }] } : step;
}

/** The record after its worker failed or died in the middle of a step: what the step may have done is marked as in doubt. */
function interrupted(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  switch (task.state) {
    case "waiting":
      return streamInDoubt(task, policy);
    case "asking":
      return markForReconcile(answerInDoubt(task, nowMs));
    case "received":
    case "delivering":
      return markForReconcile(task);
    default:
      return task;
  }
}

/** Outcomes that a person was told alone, at most once in a while. */
const toldAlone: ReadonlySet<Outcome["type"]> = new Set(["refused", "limited", "not_yours"]);

/**
 * Of a task that has ended only the delivery is repeated: of a failure, or of an answer that is still in the record because the
 * cleanup is to come or the answer was never delivered. Any other task goes on as if it was woken.
 */
function redriven({ task, event, policy }: Given<"redriven">): Step {
  if (task.state !== "done") return woken({ task, event, policy });
  const hasNothingToTell = task.outcome === undefined || toldAlone.has(task.outcome.type);
  if (hasNothingToTell) return { task, effects: task.cleanupDone ? [] : [wake(policy.sweepAfterMs)] };
  const { undelivered: _undelivered, ...kept } = task;
  const again = markForReconcile(advance(kept, { state: "delivering", cleanupDone: false }));
  return wokenDelivering(again, { nowMs: event.nowMs, reconcile: true, policy });
}
