/** The state `asking`: the agent's question to a person is open until it expires, is answered once, and the reply goes to the agent. */
import type { CallAct, CallFailure, EventOf, InputRequiredResult } from "./events.ts";
import { destinationOf, inKnownSession, type Policy, withCall, withoutParams } from "./routing.ts";
import {
  advance,
  ambiguousOutcome,
  countFailure,
  countSlackFailure,
  deliveryMs,
  extendDeadline,
  failedOutcome,
  fallBackToMrkdwn,
  graceMs,
  isEndOfTask,
  isPastDeadline,
  isSessionEnding,
  markForReconcile,
  maxAttempts,
  moveToNewSession,
  requestCancel,
  retryLater,
  retrySlack,
  setAnswer,
  setOutcome,
  startWaiting,
  type Transition,
  taskRetryDelayMs,
  untilDeadlineMs,
  waitOf,
  wake,
} from "./step.ts";
import type { AgentQuestion, GivenAnswer, Task } from "./task.ts";

/** How often is looked whether the credentials that the agent lacks are there. */
const authPollMs = 30_000;

/** However early another zone's clock says that it ends. */
const leastOpenMs = 60_000;
/** A call that was given up may arrive for so long; only then it is believed that it has not. */
const lateMs = 60_000;
const maxPromptLength = 10_000;
const maxOptions = 50;
const maxLabelLength = 200;
/** What `answer_task` takes. */
const maxIdLength = 128;

/** The question is in the record before anybody sees it. */
export function startAsking(
  task: Task,
  { result, nowMs, policy }: { result: InputRequiredResult; nowMs: number; policy: Policy },
): Transition {
  const { prompt, options, kind, question_id: id, expires_at, task_id: taskId } = result;
  const mostMs = nowMs + destinationOf(task, policy).questionMs;
  const givenMs = expires_at === undefined ? Number.NaN : Date.parse(expires_at);
  // The zones' clocks may differ.
  const expiresAtMs = Number.isNaN(givenMs) ? mostMs : Math.min(Math.max(givenMs, nowMs + leastOpenMs), mostMs);
  const earlier = kind === "auth" ? openAuth(task) : undefined;
  const question: AgentQuestion = {
    index: (task.question?.index ?? -1) + (earlier === undefined ? 1 : 0),
    ...(id === undefined ? {} : { id }),
    ...shownQuestion({ prompt, options }),
    ...(kind === undefined ? {} : { kind }),
    askedAtMs: nowMs,
    expiresAtMs: Math.min(expiresAtMs, earlier?.expiresAtMs ?? expiresAtMs),
    ...(earlier?.ts === undefined ? {} : { ts: earlier.ts }),
  };
  const { progress: _progress, stream, ...rest } = withCall(withoutParams(task), { taskId });
  // What is written after the answer begins a message of its own.
  const messages = stream?.messages.map((message) => ({ ...message, startedAtMs: 0 })) ?? [];
  const anew = stream === undefined ? {} : { stream: { ...stream, messages, length: 0 } };
  const asking = advance({ ...rest, ...anew }, { state: "asking", question });
  return { task: asking, effects: question.ts === undefined ? [wake(0)] : [{ type: "show_question" }] };
}

/** A peer may word anew at every read which credentials it lacks: that is still one question, with one message and one end. */
function openAuth({ state, question }: Task): AgentQuestion | undefined {
  return state === "asking" && question?.kind === "auth" && question.answer === undefined ? question : undefined;
}

/** As much as Slack shows, and a record holds beside everything else. */
function shownQuestion({ prompt, options = [] }: Pick<InputRequiredResult, "prompt" | "options">) {
  const shown = options.slice(0, maxOptions).map(({ id, label, style }) => ({
    id: id.length > maxIdLength ? "" : id,
    label: label.slice(0, maxLabelLength),
    ...(style === undefined ? {} : { style: style.slice(0, maxLabelLength) }),
  }));
  return { prompt: prompt.slice(0, maxPromptLength), options: shown };
}

/** What an open question needs next. `resumed`: its message may be there already. */
export function onWokenAsking(task: Task, { nowMs, resumed }: EventOf<"woken">, policy: Policy): Transition {
  const { question } = task;
  if (question === undefined) return requestCancel(task, "deadline");
  if (question.answer !== undefined) {
    if (isPastDeadline(task, nowMs - graceMs)) return requestCancel(task, "deadline");
    return sendReply(resumed ? markReplyInDoubt(task, nowMs) : task, policy);
  }
  if (nowMs >= question.expiresAtMs) return requestCancel(task, "unanswered");
  if (question.ts === undefined) {
    // It holds its thread for as long as the question is open, and the time that it has left after that.
    const untilMs = question.expiresAtMs + untilDeadlineMs(task, question.askedAtMs) + graceMs + deliveryMs;
    return { task: resumed ? markForReconcile(task) : task, effects: [{ type: "hold_thread", untilMs }] };
  }
  if (question.kind === "auth") return { task, effects: [{ type: "poll", by: "task_id" }] };
  return { task, effects: [wake(untilExpiryMs(question, nowMs))] };
}

export function onThreadHeld(task: Task): Transition {
  return { task, effects: [{ type: "ask_question", reconcile: task.reconcile === true }] };
}

export function onQuestionAsked(task: Task, { ts, nowMs }: EventOf<"question_asked">): Transition {
  if (task.question === undefined) return { task, effects: [wake(0)] };
  const { expiresAtMs, kind } = task.question;
  const delayMs = kind === "auth" ? authPollMs : expiresAtMs - nowMs;
  const question = { ...task.question, ts };
  return { task: advance(task, { question }), effects: [wake(Math.max(0, delayMs))] };
}

export function onQuestionNotAsked(task: Task, event: EventOf<"slack_failed">): Transition {
  const { again, isGivenUp } = countSlackFailure(task, event);
  if (event.kind === "refused" && task.mrkdwnFallback === undefined) return fallBackToMrkdwn(again);
  // Nobody can be asked where nobody can post; what waits for an answer is not to wait in vain.
  return isGivenUp ? requestCancel(task, "unanswered") : retrySlack(again, event);
}

/** Its message shows the question as it is by now. */
export function onQuestionShown(task: Task, { nowMs }: EventOf<"question_shown">): Transition {
  const { question } = task;
  if (question === undefined || question.answer !== undefined) return { task, effects: [{ type: "answer" }] };
  return { task, effects: [wake(Math.min(authPollMs, untilExpiryMs(question, nowMs)))] };
}

/** The reply on its way. A peer that may not know a repetition would take it for the reply to what it asks next. */
function sendReply(task: Task, policy: Policy): Transition {
  if (mayDouble(task, policy)) return { task, effects: [{ type: "poll", by: "task_id" }] };
  const isFirstTry = task.attempts === 0 && task.question?.answer?.stillAskedTimes === undefined;
  return { task, effects: [isFirstTry ? { type: "show_question" } : { type: "answer" }] };
}

export function onAnsweredAsking(entered: Task, event: EventOf<"answered">, policy: Policy): Transition {
  const { act, nowMs, result } = event;
  const task = inKnownSession(entered);
  if (result.status === "input_required") return onStillAsking(task, { act, result, nowMs, policy });
  const known = extendDeadline(task, nowMs);
  if (result.status === "success") return setAnswer(known, result);
  // The person who just replied is not to wait as long as for a task that has been at work since the question was asked.
  const wait = { ...waitOf(known), workStartedAtMs: nowMs };
  return startWaiting({ ...known, wait }, { result, nowMs, policy });
}

/** A poll, or the reply's own call, found it asking: the same as before, or something else. */
function onStillAsking(
  task: Task,
  request: { act: CallAct; result: InputRequiredResult; nowMs: number; policy: Policy },
): Transition {
  const { question } = task;
  const { act, result, nowMs } = request;
  if (question === undefined) return startAsking(task, request);
  const isSameId = question.id !== undefined && result.question_id === question.id;
  // Some peers have another id at every read. One that deduplicates has its ids in order, and may ask the same twice.
  const hasIds = question.id !== undefined && result.question_id !== undefined;
  const isSteady = hasIds && destinationOf(task, request.policy).idempotent;
  const isAlike = isSameId || (!isSteady && isSameText(question, result));
  if (!isAlike) return startAsking(extendDeadline(task, nowMs), request);
  const { answer } = question;
  if (answer === undefined) return { task, effects: [wake(Math.min(authPollMs, untilExpiryMs(question, nowMs)))] };
  const stillAskedTimes = (answer.stillAskedTimes ?? 0) + 1;
  const counted = { ...answer, stillAskedTimes };
  const pollLater = (known: GivenAnswer): Transition => ({
    task: { ...task, question: { ...question, answer: known } },
    effects: [wake(taskRetryDelayMs(stillAskedTimes, undefined))],
  });
  if (act === "answer") return pollLater({ ...counted, arrival: { type: "arrived" } });
  // It has arrived, and the agent has not looked yet; or the same is asked once more.
  const { arrival, ...unheard } = counted;
  if (arrival?.type === "arrived")
    return stillAskedTimes < maxAttempts ? pollLater(counted) : startAsking(task, request);
  if (arrival !== undefined && nowMs - arrival.sinceMs < lateMs) return pollLater(counted);
  return isSameId ? pollLater(unheard) : startAsking(task, request);
}

function isSameText(question: AgentQuestion, { prompt, options = [] }: InputRequiredResult): boolean {
  const shown = shownQuestion({ prompt, options });
  return question.prompt === shown.prompt && JSON.stringify(question.options) === JSON.stringify(shown.options);
}

function untilExpiryMs({ expiresAtMs }: AgentQuestion, nowMs: number): number {
  return Math.max(0, expiresAtMs - nowMs);
}

export function onCallFailedAsking(
  task: Task,
  { act, nowMs, error }: EventOf<"call_failed">,
  policy: Policy,
): Transition {
  if (isSessionEnding({ act, error })) return moveToNewSession(task, { act, error, policy });
  return act === "answer" ? afterFailedReply(task, { nowMs, error, policy }) : afterFailedLook(task, { nowMs, error });
}

/** The reply's call failed; it is repeated under its own id, where that is known to be safe, as long as the task has time. */
function afterFailedReply(
  task: Task,
  { nowMs, error, policy }: { nowMs: number; error: CallFailure; policy: Policy },
): Transition {
  if (isEndOfTask(error) || error.reason === "task_not_found") return setOutcome(task, failedOutcome(error));
  // It has gone on, or is over: what it came to is there.
  if (error.reason === "invalid_state") return { task, effects: [{ type: "poll", by: "task_id" }] };
  const isInDoubt = error.reason === "ambiguous" || error.reason === "invalid_response" || error.unread;
  const again = countFailure(isInDoubt ? markReplyInDoubt(task, nowMs) : task, error);
  if (isGivenUp(again, nowMs)) {
    const isUnheard = again.question?.answer?.arrival !== undefined;
    // What is given up is not to go on later.
    return {
      task: setOutcome(again, isUnheard ? ambiguousOutcome : failedOutcome(error)).task,
      effects: [{ type: "cancel" }],
    };
  }
  // Whether it still asks says whether the reply arrived.
  return mayDouble(again, policy)
    ? { task: again, effects: [{ type: "poll", by: "task_id" }] }
    : retryLater(again, error, nowMs);
}

/** Looking at a task that asks failed: for its credentials, or for whether its reply arrived. */
function afterFailedLook(task: Task, { error, nowMs }: { error: CallFailure; nowMs: number }): Transition {
  if (isEndOfTask(error) || error.reason === "task_not_found") return setOutcome(task, failedOutcome(error));
  const again = countFailure(task, error);
  const isAnswered = task.question?.answer !== undefined;
  if (isAnswered && isGivenUp(again, nowMs))
    return { task: setOutcome(task, ambiguousOutcome).task, effects: [{ type: "cancel" }] };
  return retryLater(again, error, nowMs);
}

/** A peer that is away may come back; one that lets us in no more, or answers nonsense, hardly does. */
function isGivenUp(task: Task, nowMs: number): boolean {
  return (task.nonTransientFailures ?? 0) >= maxAttempts || isPastDeadline(task, nowMs - graceMs);
}

function mayDouble(task: Task, policy: Policy): boolean {
  const { arrival } = task.question?.answer ?? {};
  return arrival?.type === "arrived" || (arrival !== undefined && !destinationOf(task, policy).idempotent);
}

/** A call may have brought the answer to the agent. */
export function markReplyInDoubt(task: Task, nowMs: number): Task {
  const { question } = task;
  if (question?.answer === undefined || question.answer.arrival?.type === "arrived") return task;
  const arrival = { type: "in_doubt", sinceMs: nowMs } as const;
  return { ...task, question: { ...question, answer: { ...question.answer, arrival } } };
}

/** Why a question does not take an answer (any more). `past`: it was another question that is no more. */
export type ReplyRefusal =
  | { type: "answered"; by: string; atMs: number }
  | { type: "expired" }
  | { type: "past" }
  | { type: "over" };

/** The record with the answer in it: of all that are given the first one counts. Pure; whoever stores it wakes the task. */
export function takeAnswer({
  task,
  index,
  answer,
  nowMs,
}: {
  task: Task;
  /** Of the question that is meant; undefined: the open one. */
  index?: number;
  answer: GivenAnswer;
  nowMs: number;
}): { task: Task } | { notTaken: ReplyRefusal } {
  const { question } = task;
  if (question === undefined) return { notTaken: { type: "over" } };
  if ((index ?? question.index) !== question.index) return { notTaken: { type: "past" } };
  const given = question.answer;
  if (given !== undefined) return { notTaken: { type: "answered", by: given.user, atMs: given.atMs } };
  if (task.state !== "asking") return { notTaken: { type: "over" } };
  if (task.cancelReason !== undefined || nowMs >= question.expiresAtMs) return { notTaken: { type: "expired" } };
  const { from } = answer;
  return {
    task: {
      ...advance(extendDeadline(task, nowMs), {}),
      question: { ...question, answer },
      ...(from === undefined ? {} : { answeredBy: [...(task.answeredBy ?? []), from] }),
    },
  };
}

/** Whether what was said at `ts` was said when the question stood in the thread, by Slack's own clock where that is known. */
export function isSaidAfter({ askedAtMs, ts: questionTs }: AgentQuestion, ts: string): boolean {
  return Number(ts) > Number(questionTs ?? askedAtMs / 1000);
}
