/** The task machine: what a task does next. A pure function of the record and one event; the interpreter runs its effects. */

import { leftOutCountOf } from "../transport/take-result.ts";
import { tokensOf } from "../usage-history/tokens.ts";
import { answerInDoubt, asked, asks, questionShown, stillAsks, waited, wokenAsking } from "./asking.ts";
import { callFailed } from "./call-failures.ts";
import { afterDeadLetterMs, turnDelay } from "./delays.ts";
import { shareRefused, uploaded, wokenDelivering } from "./delivering.ts";
import { cancelAsked, canceled, end, notEnding } from "./ending.ts";
import type { TaskEvent } from "./events.ts";
import { hasMoved, sending } from "./failover.ts";
import type { Policy } from "./policy.ts";
import { atWork, progressShown, streamInDoubt } from "./progress.ts";
import {
  answerGiven,
  begin,
  charged,
  hasContext,
  isOutdated,
  lineUp,
  messageRead,
  permitted,
  prepared,
  received,
  threadCanceled,
  threadOpened,
  withParams,
} from "./received.ts";
import { slackFailed } from "./slack-failures.ts";
import {
  advance,
  conclude,
  failed,
  forget,
  graceMs,
  isPastDeadline,
  leaving,
  left,
  nextPoll,
  type Step,
  wake,
} from "./step.ts";
import { stepFailed } from "./step-failed.ts";
import type { Task } from "./task.ts";

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
    case "answer_given":
      return answerGiven(task, { event, policy });
    case "charged":
      return charged(task, { event, policy });
    case "thread_opened":
      return { task: threadOpened(task, event), effects: [wake(0)] };
    case "lined_up":
      return linedUp({ task, event, policy });
    case "thread_full":
      return conclude(task, failed({ reason: "rate_limited", lost: false }));
    case "announced":
      return announced({ task, event, policy });
    case "prepared":
      return prepared(task, { event, policy });
    case "file_refused":
      return conclude(task, event.outcome);
    case "answered":
      return answered({ task, event, policy });
    case "call_failed":
      return callFailed({ task, event, policy });
    case "busy":
      return busy(task, event);
    case "progress_shown":
      return progressShown(task, event);
    case "thread_held":
      return { task, effects: [{ type: "ask_question", heal: task.attempts > 0 }] };
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
      return leaving(advance(task, { state: "done" }));
    case "share_refused":
      return shareRefused(task);
    case "left_thread":
      return left(task, policy);
    case "swept":
      return { task: forget(task), effects: [] };
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

/** An answer ends a row of failures. */
const anew = { attempts: 0, puzzles: 0 };
/** Its time is over before there was anybody who took it. */
const neverTaken = failed({ reason: "unavailable", lost: false });
/** The destination leads elsewhere by now, so that nobody can be asked. */
const perhapsTaken = failed({ reason: "ambiguous", lost: false });

function woken({ task, event, policy }: Given<"woken" | "redriven">): Step {
  const { nowMs, resumed } = event;
  const heal = resumed || task.attempts > 0;
  switch (task.state) {
    case "received":
      return received({ task, nowMs, heal });
    case "queued":
      if (isOutdated(task, nowMs)) return conclude(task, { type: "too_old" });
      return lineUp(task, policy);
    case "announced":
      if (isPastDeadline(task, nowMs)) return conclude(task, neverTaken);
      return ready(task, { nowMs, policy });
    case "sent": {
      if (task.ending !== undefined) return { task, effects: [{ type: "cancel" }] };
      // In doubt it is looked up before anything is sent again, however late it is: the agent may be at work.
      const inDoubt = resumed || task.mayHaveArrived;
      if (inDoubt) return { task: { ...task, mayHaveArrived: true }, effects: [{ type: "poll", by: "request_id" }] };
      // A host that could not take it may have taken it down all the same: what is given up is not to begin later.
      if (isPastDeadline(task, nowMs)) {
        const outcome = task.bound && hasMoved(task, policy) ? perhapsTaken : neverTaken;
        return { ...conclude(task, outcome), effects: [{ type: "cancel" }] };
      }
      return sending(task, { nowMs, policy });
    }
    case "waiting": {
      // However it goes on: a worker that died may have begun a stream.
      const known = resumed ? streamInDoubt(task, policy) : task;
      if (task.ending !== undefined) return { task: known, effects: [{ type: "cancel" }] };
      if (isPastDeadline(task, nowMs - graceMs)) return end(known, "deadline");
      return {
        task: { ...known, polls: task.polls + 1, polledAtMs: nowMs },
        effects: [{ type: "poll", by: "task_id" }],
      };
    }
    case "asking":
      return wokenAsking(task, { nowMs, heal, resumed, policy });
    case "delivering":
      return wokenDelivering(task, { nowMs, heal });
    case "done":
      return { task, effects: task.swept ? [] : [{ type: "sweep" }] };
  }
}

/** What is to be sent is in the record before it is sent. */
function ready(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  if (task.params !== undefined) return sending(advance(task, {}), { nowMs, policy });
  if (hasContext(task)) return { task, effects: [{ type: "prepare" }] };
  return sending(advance(withParams(task, { context: {}, policy }), {}), { nowMs, policy });
}

/** Its time begins when nobody is before it. A task that waited has been announced already. */
function linedUp({ task, event: { ahead, freeAtMs, nowMs }, policy }: Given<"lined_up">): Step {
  const placed = { ...task, ahead };
  const ready = ahead === 0 ? begin(placed, { nowMs, policy }) : placed;
  if (task.state === "received") return { task: ready, effects: [{ type: "announce", heal: task.attempts > 0 }] };
  if (ahead > 0) return { task: placed, effects: [wake(turnDelay({ freeAtMs, nowMs }))] };
  // The placeholder said that it waits.
  return { task: advance(ready, { state: "announced" }), effects: [{ type: "show_progress" }] };
}

function announced({ task, event: { ts, nowMs } }: Given<"announced">): Step {
  const shown = { placeholderTs: ts, announcedAtMs: nowMs };
  if (task.ahead === 0) return { task: advance(task, { ...shown, state: "announced" }), effects: [wake(0)] };
  // It looks once more at once: the one before it may have left meanwhile, and knew of nobody to tell.
  return { task: advance(task, { ...shown, state: "queued" }), effects: [wake(0)] };
}

/** Nothing was tried, so nothing counts as a failure; what was certainly not sent still was not. */
function busy(task: Task, { delayMs }: Extract<TaskEvent, { type: "busy" }>): Step {
  if (task.state === "delivering") return { task, effects: [wake(0)] };
  return { task, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 4) })] };
}

function answered({ task: before, event: { act, nowMs, result }, policy }: Given<"answered">): Step {
  const isAsking = before.state === "asking";
  const task = isAsking && result.status !== "input_required" ? waited(before, nowMs) : before;
  if (result.status === "success") {
    const { response_text: text, artifacts = [], usage } = result;
    const tokens = tokensOf(usage);
    const leftOut = leftOutCountOf(result);
    return conclude(task, {
      type: "answer",
      text,
      ...(artifacts.length > 0 && { artifacts }),
      ...(leftOut > 0 && { leftOut }),
      ...(tokens && { tokens }),
    });
  }
  if (task.ending !== undefined) return notEnding(task, task.ending);
  if (result.status === "input_required") {
    return isAsking ? stillAsks(task, { act, result, nowMs, policy }) : asks(task, { result, nowMs, policy });
  }
  if (task.state === "waiting") return atWork({ ...task, ...anew, taskId: result.task_id }, { result, nowMs });
  const { params: _params, ...sent } = task;
  const waiting = advance(sent, { state: "waiting", taskId: result.task_id, pollAfterMs: result.poll_after_ms });
  return { task: waiting, effects: [nextPoll(waiting, nowMs)] };
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
  const { state, swept, message } = task;
  const isOpen =
    (state === "received" && message.unaddressed === true) ||
    (state === "queued" && !isOutdated(task, nowMs)) ||
    (state === "waiting" && !isPastDeadline(task, nowMs - graceMs)) ||
    (state === "asking" && task.question !== undefined && nowMs < task.question.expiresAtMs) ||
    state === "delivering" ||
    (state === "done" && !swept);
  if (isOpen) return { task, effects: [wake(afterDeadLetterMs)] };
  if (state === "done") return { task, effects: [] };
  const mayRun = state === "sent" || state === "waiting" || state === "asking";
  const { task: concluded } = conclude(task, failed({ reason: mayRun ? "ambiguous" : "internal", lost: false }));
  // An announcement may have been made by a worker that died of it.
  return { task: { ...concluded, attempts: 1 }, effects: mayRun ? [{ type: "cancel" }] : [wake(0)] };
}

/** The record after its worker failed or died in the middle of a step: what the step may have done is marked as in doubt. */
function interrupted(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  switch (task.state) {
    case "waiting":
      return streamInDoubt(task, policy);
    case "asking":
      return { ...answerInDoubt(task, nowMs), attempts: Math.max(1, task.attempts) };
    case "received":
    case "delivering":
    case "done":
      return { ...task, attempts: Math.max(1, task.attempts) };
    default:
      return task;
  }
}

/**
 * Of a task that has ended only the delivery is repeated: of a failure, or of an answer that is not forgotten because it was
 * not swept or never delivered. Any other task goes on as if it was woken.
 */
function redriven({ task, event, policy }: Given<"redriven">): Step {
  if (task.state !== "done") return woken({ task, event, policy });
  if (task.outcome === undefined) return { task, effects: task.swept ? [] : [wake(policy.sweepAfterMs)] };
  const { undelivered: _undelivered, ...kept } = task;
  const again = { ...advance(kept, { state: "delivering", swept: false }), attempts: 1 };
  return wokenDelivering(again, { nowMs: event.nowMs, heal: true });
}
