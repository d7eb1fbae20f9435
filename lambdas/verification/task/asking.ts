/** The state `asking`: the agent's question is open until a person replies or it expires. The first reply goes to the agent. */
import { isEndOfTask, mayHaveRun } from "@sekisho/contracts/certainty.ts";
import {
  addApproval,
  eraseLink,
  fitsQuestion,
  isDecidedAlone,
  needsButtons,
  readAnswerRules,
  unanswerableOutcome,
} from "./answer-rules.ts";
import type { CallAct, CallFailure, EventOf, InputRequiredResult } from "./events.ts";
import {
  countFailure,
  countSlackFailure,
  fallBackToMrkdwn,
  isSessionEnding,
  maxAttempts,
  moveToNewSession,
  retryLater,
  retrySlack,
  taskRetryDelayMs,
} from "./failures.ts";
import { startWaiting, waitOf } from "./polls.ts";
import { confirmSession, destinationOf, type Policy, withCall, withoutParams } from "./routing.ts";
import type { AgentQuestion, GivenAnswer, Task } from "./task.ts";
import {
  deliveryMs,
  extendDeadline,
  graceMs,
  isPastDeadline,
  timeToDeadlineMs,
} from "./time-limits.ts";
import {
  advance,
  ambiguousOutcome,
  failedOutcome,
  markForReconcile,
  requestCancel,
  setAnswer,
  setOutcome,
  type Transition,
  wake,
} from "./transition.ts";

/** The gap between two polls of an agent that waits for credentials. */
const authPollMs = 30_000;

/** A question stays open for at least this long, even if the Execution zone's clock says that it ends earlier. */
const minOpenMs = 60_000;
/** A call that timed out may still arrive within this time. */
const lateMs = 60_000;
const maxPromptLength = 10_000;
const maxOptions = 50;
const maxLabelLength = 200;
/** The longest option id that `answer_task` accepts. */
const maxIdLength = 128;

/** Stores the question in the record before it is posted. */
export function startAsking(
  task: Task,
  { result, nowMs, policy }: { result: InputRequiredResult; nowMs: number; policy: Policy },
): Transition {
  const { prompt, options, fields, kind, question_id: id, expires_at, task_id: taskId } = result;
  const { questionMs, answerBy } = destinationOf(task, policy);
  const rules = readAnswerRules(result, answerBy);
  if (rules === undefined) return refuseQuestion(withCall(task, { taskId }));
  const maxExpiresAtMs = nowMs + questionMs;
  const givenMs = expires_at === undefined ? Number.NaN : Date.parse(expires_at);
  // The zones' clocks may differ.
  const expiresAtMs = Number.isNaN(givenMs)
    ? maxExpiresAtMs
    : Math.min(Math.max(givenMs, nowMs + minOpenMs), maxExpiresAtMs);
  const earlier = kind === "auth" ? openAuth(task) : undefined;
  const question: AgentQuestion = {
    index: (task.question?.index ?? -1) + (earlier === undefined ? 1 : 0),
    ...(id === undefined ? {} : { id }),
    ...shownQuestion({ prompt, options: fields === undefined ? options : [] }),
    ...(fields === undefined || kind === "auth" ? {} : { fields }),
    ...(kind === undefined ? {} : { kind }),
    ...rules,
    askedAtMs: nowMs,
    expiresAtMs: Math.min(expiresAtMs, earlier?.expiresAtMs ?? expiresAtMs),
    ...(earlier?.ts === undefined ? {} : { ts: earlier.ts }),
  };
  const { progress, stream, ...calledTask } = withCall(withoutParams(task), { taskId });
  // Text that the agent writes after the reply begins a new stream message.
  const messages = stream?.messages.map((message) => ({ ...message, startedAtMs: 0 })) ?? [];
  const anew = stream === undefined ? {} : { stream: { ...stream, messages, length: 0 } };
  // The thread keeps the text that the agent has written so far, and shows it beside the question.
  const { text: _text, percent: _percent, ...writtenProgress } = progress ?? { shownAtMs: 0 };
  const keptProgress =
    writtenProgress.partialText === undefined ? {} : { progress: writtenProgress };
  const asking = advance(
    { ...calledTask, ...anew, ...keptProgress },
    { state: "asking", question },
  );
  return {
    task: asking,
    effects: question.ts === undefined ? [wake(0)] : [{ type: "show_question" }],
  };
}

/** Ends the task, because a question that nobody can answer would only expire. The agent must not wait for a reply. */
function refuseQuestion(task: Task): Transition {
  return { task: setOutcome(task, unanswerableOutcome).task, effects: [{ type: "cancel" }] };
}

/** A peer may word its request for credentials differently at every poll. It stays one question, with one message and one expiry. */
function openAuth({ state, question }: Task): AgentQuestion | undefined {
  return state === "asking" && question?.kind === "auth" && question.answer === undefined
    ? question
    : undefined;
}

/** Cuts the question to the lengths that Slack shows and a record can hold. */
function shownQuestion({ prompt, options = [] }: Pick<InputRequiredResult, "prompt" | "options">) {
  const shownOptions = options.slice(0, maxOptions).map(({ id, label, style }) => ({
    id: id.length > maxIdLength ? "" : id,
    label: label.slice(0, maxLabelLength),
    ...(style === undefined ? {} : { style: style.slice(0, maxLabelLength) }),
  }));
  return { prompt: prompt.slice(0, maxPromptLength), options: shownOptions };
}

/** Decides what an open question needs next. `workerDied`: its message may be in the thread already. */
export function onWokenAsking(
  task: Task,
  { nowMs, workerDied }: EventOf<"woken">,
  policy: Policy,
): Transition {
  const { question } = task;
  if (question === undefined) return requestCancel(task, "deadline");
  if (question.answer !== undefined) {
    if (isPastDeadline(task, nowMs - graceMs)) return requestCancel(task, "deadline");
    return sendReply(workerDied ? markReplyInDoubt(task, nowMs) : task, policy);
  }
  if (nowMs >= question.expiresAtMs) return requestCancel(task, "unanswered");
  if (question.ts === undefined) {
    // The task holds its thread while the question is open, and for its remaining time after that.
    const untilMs =
      question.expiresAtMs + timeToDeadlineMs(task, question.askedAtMs) + graceMs + deliveryMs;
    return {
      task: workerDied ? markForReconcile(task) : task,
      effects: [{ type: "hold_thread", untilMs }],
    };
  }
  if (question.approvals?.isUnshown) return { task, effects: [{ type: "show_question" }] };
  if (question.kind === "auth") return { task, effects: [{ type: "poll", by: "task_id" }] };
  return { task, effects: [wake(timeToExpiryMs(question, nowMs))] };
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
  // Without its buttons, nobody could answer it.
  if (event.kind === "refused" && task.question !== undefined && needsButtons(task.question))
    return refuseQuestion(again);
  if (event.kind === "refused" && task.mrkdwnFallback === undefined) return fallBackToMrkdwn(again);
  // If the bot cannot post the question, the agent must not wait for a reply.
  return isGivenUp ? requestCancel(task, "unanswered") : retrySlack(again, event);
}

/** The question's message is up to date: sends the reply, or waits for one. */
export function onQuestionShown(task: Task, { nowMs }: EventOf<"question_shown">): Transition {
  const { question } = task;
  if (question === undefined || question.answer !== undefined)
    return { task, effects: [{ type: "answer" }] };
  const { approvals } = question;
  if (approvals === undefined)
    return { task, effects: [wake(Math.min(authPollMs, timeToExpiryMs(question, nowMs)))] };
  const { isUnshown: _isUnshown, ...shownApprovals } = approvals;
  return {
    task: { ...task, question: { ...question, approvals: shownApprovals } },
    effects: [wake(timeToExpiryMs(question, nowMs))],
  };
}

/** Sends the reply. A peer that does not deduplicate could take a repetition as the reply to its next question, so it is polled instead. */
function sendReply(task: Task, policy: Policy): Transition {
  if (mayDouble(task, policy)) return { task, effects: [{ type: "poll", by: "task_id" }] };
  const isFirstTry = task.attempts === 0 && task.question?.answer?.stillAskedTimes === undefined;
  return { task, effects: [isFirstTry ? { type: "show_question" } : { type: "answer" }] };
}

export function onAnsweredAsking(
  enteredTask: Task,
  event: EventOf<"answered">,
  policy: Policy,
): Transition {
  const { act, nowMs, result } = event;
  const task = confirmSession(enteredTask);
  if (result.status === "input_required")
    return onStillAsking(task, { act, result, nowMs, policy });
  const extendedTask = extendDeadline(task, nowMs);
  if (result.status === "success") return setAnswer(extendedTask, result);
  // Polls start again with short gaps, because the person has just replied and waits.
  const wait = { ...waitOf(extendedTask), workStartedAtMs: nowMs };
  const waiting = startWaiting({ ...extendedTask, wait }, { result, nowMs, policy });
  if (extendedTask.question?.answer !== undefined) return waiting;
  // Without a reply, nothing has shown yet that the agent goes on. Earlier text would begin a stream anew.
  const { progress: _progress, ...waitingTask } = waiting.task;
  return { task: waitingTask, effects: [{ type: "show_progress" }] };
}

/** A poll, or the call with the reply, found the agent asking the same question as before, or another one. */
function onStillAsking(
  task: Task,
  request: { act: CallAct; result: InputRequiredResult; nowMs: number; policy: Policy },
): Transition {
  const { question } = task;
  const { act, result, nowMs } = request;
  if (question === undefined) return startAsking(task, request);
  const isSameId = question.id !== undefined && result.question_id === question.id;
  // Some peers give another id at every poll. A peer that deduplicates has stable ids, and may ask the same text twice.
  const hasIds = question.id !== undefined && result.question_id !== undefined;
  const isSteady = hasIds && destinationOf(task, request.policy).idempotent;
  const isSame =
    hasSameRules(question, result) && (isSameId || (!isSteady && isSameText(question, result)));
  if (!isSame) return startAsking(extendDeadline(task, nowMs), request);
  const { answer } = question;
  if (answer === undefined)
    return {
      task: withLatestLink(task, result),
      effects: [wake(Math.min(authPollMs, timeToExpiryMs(question, nowMs)))],
    };
  const stillAskedTimes = (answer.stillAskedTimes ?? 0) + 1;
  const countedAnswer = { ...answer, stillAskedTimes };
  const pollLater = (newAnswer: GivenAnswer): Transition => ({
    task: { ...task, question: { ...question, answer: newAnswer } },
    effects: [wake(taskRetryDelayMs(stillAskedTimes, undefined))],
  });
  if (act === "answer") return pollLater({ ...countedAnswer, arrival: { type: "arrived" } });
  // The reply has arrived and the agent has not read it yet, or the agent asks the same question again.
  const { arrival, ...unheardAnswer } = countedAnswer;
  if (arrival?.type === "arrived")
    return stillAskedTimes < maxAttempts ? pollLater(countedAnswer) : startAsking(task, request);
  if (arrival !== undefined && nowMs - arrival.sinceMs < lateMs) return pollLater(countedAnswer);
  return isSameId ? pollLater(unheardAnswer) : startAsking(task, request);
}

/** A peer may make a new link for each poll, of which only the latest one works. */
function withLatestLink(task: Task, { url, kind }: InputRequiredResult): Task {
  const { question } = task;
  if (question?.signIn === undefined || kind !== "auth" || url === undefined) return task;
  return question.signIn.url === url
    ? task
    : { ...task, question: { ...question, signIn: { url } } };
}

/** With other rules about who may answer, it is another question: those who answered the earlier one may not be enough. */
function hasSameRules(question: AgentQuestion, result: InputRequiredResult): boolean {
  const { url, kind, answerers, approvals = 1 } = result;
  const { needed = 1 } = question.approvals ?? {};
  // A link that comes later needs its button. One that is left out later may still work.
  const isLinkNew = url !== undefined && kind === "auth" && question.signIn === undefined;
  const [one, other] = [
    [question.answerers, needed],
    [answerers, approvals],
  ];
  return !isLinkNew && JSON.stringify(one) === JSON.stringify(other);
}

function isSameText(question: AgentQuestion, result: InputRequiredResult): boolean {
  const { prompt, options, fields } = result;
  const shortQuestion = shownQuestion({ prompt, options: fields === undefined ? options : [] });
  const [one, other] = [
    [question.prompt, question.options, question.fields],
    [shortQuestion.prompt, shortQuestion.options, fields],
  ];
  return JSON.stringify(one) === JSON.stringify(other);
}

function timeToExpiryMs({ expiresAtMs }: AgentQuestion, nowMs: number): number {
  return Math.max(0, expiresAtMs - nowMs);
}

export function onCallFailedAsking(
  task: Task,
  { act, nowMs, error }: EventOf<"call_failed">,
  policy: Policy,
): Transition {
  if (isSessionEnding({ act, error })) return moveToNewSession(task, { act, error, policy });
  return act === "answer"
    ? handleFailedReply(task, { nowMs, error, policy })
    : handleFailedPoll(task, { nowMs, error });
}

/** Repeats the failed call with the reply under the same id, if that is safe and the task has time. */
function handleFailedReply(
  task: Task,
  { nowMs, error, policy }: { nowMs: number; error: CallFailure; policy: Policy },
): Transition {
  if (isEndOfTask(error) || error.reason === "task_not_found")
    return setOutcome(task, failedOutcome(error));
  // The task has gone on or ended, so a poll finds its state.
  if (error.reason === "invalid_state") return { task, effects: [{ type: "poll", by: "task_id" }] };
  const again = countFailure(mayHaveRun(error) ? markReplyInDoubt(task, nowMs) : task, error);
  if (isGivenUp(again, nowMs)) {
    const isInDoubtNow = again.question?.answer?.arrival !== undefined;
    // A task that is given up must not go on later.
    const step = setOutcome(again, isInDoubtNow ? ambiguousOutcome : failedOutcome(error));
    return { task: step.task, effects: [{ type: "cancel" }] };
  }
  // A poll shows whether the agent still asks, and so whether the reply arrived.
  return mayDouble(again, policy)
    ? { task: again, effects: [{ type: "poll", by: "task_id" }] }
    : retryLater(again, error, nowMs);
}

/** Handles a failed poll, which checked for the credentials or for whether the reply arrived. */
function handleFailedPoll(
  task: Task,
  { error, nowMs }: { error: CallFailure; nowMs: number },
): Transition {
  if (isEndOfTask(error) || error.reason === "task_not_found")
    return setOutcome(task, failedOutcome(error));
  const again = countFailure(task, error);
  const isAnswered = task.question?.answer !== undefined;
  if (isAnswered && isGivenUp(again, nowMs))
    return { task: setOutcome(task, ambiguousOutcome).task, effects: [{ type: "cancel" }] };
  return retryLater(again, error, nowMs);
}

/** An unreachable peer may come back. One that rejects our credentials or breaks the contract is unlikely to recover. */
function isGivenUp(task: Task, nowMs: number): boolean {
  return (task.nonTransientFailures ?? 0) >= maxAttempts || isPastDeadline(task, nowMs - graceMs);
}

function mayDouble(task: Task, policy: Policy): boolean {
  const { arrival } = task.question?.answer ?? {};
  return (
    arrival?.type === "arrived" ||
    (arrival !== undefined && !destinationOf(task, policy).idempotent)
  );
}

/** Marks that a call may have brought the reply to the agent. */
export function markReplyInDoubt(task: Task, nowMs: number): Task {
  const { question } = task;
  if (question?.answer === undefined || question.answer.arrival?.type === "arrived") return task;
  const arrival = { type: "in_doubt", sinceMs: nowMs } as const;
  return { ...task, question: { ...question, answer: { ...question.answer, arrival } } };
}

/** Why a question does not accept a reply. `past`: the reply was meant for an earlier question. */
export type ReplyRefusal =
  | { type: "answered"; by: string; atMs: number }
  /** The question needs a click on one of its buttons. */
  | { type: "use_buttons" }
  | { type: "expired" }
  | { type: "past" }
  | { type: "over" };

/**
 * Adds the reply to the record, or one approval of several. The first reply counts. The caller stores the record and wakes the task, unless
 * it is the same one: the person has already chosen this.
 */
export function takeAnswer({
  task,
  index,
  answer,
  nowMs,
}: {
  task: Task;
  /** The index of the answered question. Default: the open one. */
  index?: number;
  answer: GivenAnswer;
  nowMs: number;
}): { task: Task } | { notTaken: ReplyRefusal } {
  const refusal = findReplyRefusal({ task, index, nowMs });
  const { question } = task;
  if (refusal !== undefined || question === undefined)
    return { notTaken: refusal ?? { type: "over" } };
  if (!fitsQuestion(question, answer)) return { notTaken: { type: "use_buttons" } };
  const { option } = answer;
  const { approvals } = question;
  if (approvals === undefined || option === undefined || isDecidedAlone(question, option))
    return { task: withAnswer(task, { question, answer, nowMs }) };
  const change = addApproval(approvals, { ...answer, option });
  if (change === undefined) return { task };
  const { given, approvedBy, isComplete } = change;
  if (!isComplete) {
    const pending = { ...approvals, given, isUnshown: true as const };
    return { task: { ...task, question: { ...question, approvals: pending } } };
  }
  const approved = { ...question, approvals: { ...approvals, given } };
  return {
    task: withAnswer(task, { question: approved, answer: { ...answer, approvedBy }, nowMs }),
  };
}

function withAnswer(
  task: Task,
  given: { question: AgentQuestion; answer: GivenAnswer; nowMs: number },
): Task {
  const { question, answer, nowMs } = given;
  const { from } = answer;
  return {
    ...advance(extendDeadline(task, nowMs), {}),
    question: { ...eraseLink(question), answer },
    ...(from === undefined ? {} : { answeredBy: [...(task.answeredBy ?? []), from] }),
  };
}

/** Why the question of that index accepts no reply now. `index` is that of the answered question. Default: the open one. */
export function findReplyRefusal({
  task,
  index,
  nowMs,
}: {
  task: Task;
  index?: number | undefined;
  nowMs: number;
}): ReplyRefusal | undefined {
  const { question } = task;
  if (question === undefined) return { type: "over" };
  if ((index ?? question.index) !== question.index) return { type: "past" };
  const givenAnswer = question.answer;
  if (givenAnswer !== undefined)
    return { type: "answered", by: givenAnswer.user, atMs: givenAnswer.atMs };
  if (task.state !== "asking") return { type: "over" };
  if (task.cancelReason !== undefined || nowMs >= question.expiresAtMs) return { type: "expired" };
  return undefined;
}

/** True if the message with this `ts` was written after the question was posted. Uses Slack's clock if the post is known. */
export function isWrittenAfter({ askedAtMs, ts: questionTs }: AgentQuestion, ts: string): boolean {
  return Number(ts) > Number(questionTs ?? askedAtMs / 1000);
}
