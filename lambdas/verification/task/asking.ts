/** The agent's question to a person: asked, open until it expires, answered once, and brought to the agent. */
import type { TaskResult } from "../../../contracts/methods.ts";
import { end, endsTheTask } from "./ending.ts";
import type { CallAct, CallFailure } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { deliveryMs } from "./received.ts";
import {
  advance,
  countFailure,
  failed,
  graceMs,
  isPastDeadline,
  markForReconcile,
  maxAttempts,
  retryDelayMs,
  retryLater,
  type Step,
  setOutcome,
  untilDeadlineMs,
  waited,
  wake,
} from "./step.ts";
import type { GivenAnswer, Question, Task } from "./task.ts";

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

type InputRequired = Extract<TaskResult, { status: "input_required" }>;

/** The question is in the record before anybody sees it. */
export function asks(
  task: Task,
  { result, nowMs, policy }: { result: InputRequired; nowMs: number; policy: Policy },
): Step {
  const { prompt, options, kind, question_id: id, expires_at, task_id: taskId } = result;
  const mostMs = nowMs + destinationOf(task, policy).questionMs;
  const givenMs = expires_at === undefined ? Number.NaN : Date.parse(expires_at);
  // The zones' clocks may differ.
  const expiresAtMs = Number.isNaN(givenMs) ? mostMs : Math.min(Math.max(givenMs, nowMs + leastOpenMs), mostMs);
  const earlier = kind === "auth" ? openAuth(task) : undefined;
  const question: Question = {
    index: (task.question?.index ?? -1) + (earlier === undefined ? 1 : 0),
    ...(id === undefined ? {} : { id }),
    ...shownQuestion({ prompt, options }),
    ...(kind === undefined ? {} : { kind }),
    askedAtMs: nowMs,
    expiresAtMs: Math.min(expiresAtMs, earlier?.expiresAtMs ?? expiresAtMs),
    ...(earlier?.ts === undefined ? {} : { ts: earlier.ts }),
  };
  const { progress: _progress, params: _params, stream, ...rest } = task;
  // What is written after the answer begins a message of its own.
  const messages = stream?.messages.map((message) => ({ ...message, startedAtMs: 0 })) ?? [];
  const anew = stream === undefined ? {} : { stream: { ...stream, messages, length: 0 } };
  const asking = advance({ ...rest, ...anew }, { state: "asking", taskId, question });
  return { task: asking, effects: question.ts === undefined ? [wake(0)] : [{ type: "show_question" }] };
}

/** A peer may word anew at every read which credentials it lacks: that is still one question, with one message and one end. */
function openAuth({ state, question }: Task): Question | undefined {
  return state === "asking" && question?.kind === "auth" && question.answer === undefined ? question : undefined;
}

/** Its message shows the question as it is by now. */
export function questionShown(task: Task, { nowMs }: { nowMs: number }): Step {
  const { question } = task;
  if (question === undefined || question.answer !== undefined) return { task, effects: [{ type: "answer" }] };
  return { task, effects: [wake(Math.min(authPollMs, untilExpiryMs(question, nowMs)))] };
}

/** As much as Slack shows, and a record holds beside everything else. */
function shownQuestion({ prompt, options = [] }: Pick<InputRequired, "prompt" | "options">) {
  const shown = options.slice(0, maxOptions).map(({ id, label, style }) => ({
    id: id.length > maxIdLength ? "" : id,
    label: label.slice(0, maxLabelLength),
    ...(style === undefined ? {} : { style: style.slice(0, maxLabelLength) }),
  }));
  return { prompt: prompt.slice(0, maxPromptLength), options: shown };
}

/** What an open question needs next. `resumed`: its message may be there already. */
export function wokenAsking(
  task: Task,
  { nowMs, resumed, policy }: { nowMs: number; resumed: boolean; policy: Policy },
): Step {
  const { question } = task;
  if (task.cancelReason !== undefined || question === undefined) return { task, effects: [{ type: "cancel" }] };
  if (question.answer !== undefined) {
    if (isPastDeadline(task, nowMs - graceMs)) return end(task, "deadline");
    return bring(resumed ? answerInDoubt(task, nowMs) : task, policy);
  }
  if (nowMs >= question.expiresAtMs) return end(task, "unanswered");
  if (question.ts === undefined) {
    // It holds its thread for as long as the question is open, and the time that it has left after that.
    const untilMs = question.expiresAtMs + untilDeadlineMs(task, question.askedAtMs) + graceMs + deliveryMs;
    return { task: resumed ? markForReconcile(task) : task, effects: [{ type: "hold_thread", untilMs }] };
  }
  if (question.kind === "auth") return { task, effects: [{ type: "poll", by: "task_id" }] };
  return { task, effects: [wake(untilExpiryMs(question, nowMs))] };
}

/** The answer on its way. A peer that may not know a repetition would take it for the answer to what it asks next. */
function bring(task: Task, policy: Policy): Step {
  if (mayDouble(task, policy)) return { task, effects: [{ type: "poll", by: "task_id" }] };
  return { task, effects: [task.attempts === 0 ? { type: "show_question" } : { type: "answer" }] };
}

export function asked(task: Task, { ts, nowMs }: { ts: string; nowMs: number }): Step {
  if (task.question === undefined) return { task, effects: [wake(0)] };
  const { expiresAtMs, kind } = task.question;
  const delayMs = kind === "auth" ? authPollMs : expiresAtMs - nowMs;
  const question = { ...task.question, ts };
  return { task: advance(task, { question }), effects: [wake(Math.max(0, delayMs))] };
}

/** What a poll, or the answer's own call, says of a task that asks: nothing new, or something else. */
export function stillAsks(
  task: Task,
  request: { act: CallAct; result: InputRequired; nowMs: number; policy: Policy },
): Step {
  const { question } = task;
  const { act, result, nowMs } = request;
  if (question === undefined) return asks(task, request);
  const isSameId = question.id !== undefined && result.question_id === question.id;
  // Some peers have another id at every read. One that deduplicates has its ids in order, and may ask the same twice.
  const hasIds = question.id !== undefined && result.question_id !== undefined;
  const isSteady = hasIds && destinationOf(task, request.policy).idempotent;
  const isAlike = isSameId || (!isSteady && isSameText(question, result));
  if (!isAlike) return asks(waited(task, nowMs), request);
  const { answer } = question;
  if (answer === undefined) return { task, effects: [wake(Math.min(authPollMs, untilExpiryMs(question, nowMs)))] };
  const again = { ...task, attempts: task.attempts + 1 };
  if (act === "answer")
    return pollLater({ ...again, question: { ...question, answer: { ...answer, sentToAgent: true } } });
  // It has arrived, and the agent has not looked yet; or the same is asked once more.
  if (answer.sentToAgent) return again.attempts < maxAttempts ? pollLater(again) : asks(task, request);
  const { inDoubtSinceMs = 0, ...unheard } = answer;
  if (nowMs - inDoubtSinceMs < lateMs) return pollLater(again);
  if (!isSameId) return asks(task, request);
  return pollLater({ ...again, question: { ...question, answer: unheard } });
}

function isSameText(question: Question, { prompt, options = [] }: InputRequired): boolean {
  const shown = shownQuestion({ prompt, options });
  return question.prompt === shown.prompt && JSON.stringify(question.options) === JSON.stringify(shown.options);
}

function untilExpiryMs({ expiresAtMs }: Question, nowMs: number): number {
  return Math.max(0, expiresAtMs - nowMs);
}

function pollLater(task: Task): Step {
  return { task, effects: [wake(retryDelayMs(task.attempts, undefined))] };
}

/** The answer's call failed; it is repeated under its own id, where that is known to be safe, as long as the task has time. */
export function answerFailed({
  task,
  nowMs,
  error,
  policy,
}: {
  task: Task;
  nowMs: number;
  error: CallFailure;
  policy: Policy;
}): Step {
  if (endsTheTask(error) || error.reason === "task_not_found") return setOutcome(task, failed(error));
  // It has gone on, or is over: what it came to is there.
  if (error.reason === "invalid_state") return { task, effects: [{ type: "poll", by: "task_id" }] };
  const isInDoubt = error.reason === "ambiguous" || error.reason === "invalid_response" || error.unread;
  const again = countFailure(isInDoubt ? answerInDoubt(task, nowMs) : task, error);
  if (isGivenUp(again, nowMs)) {
    const told = again.question?.answer?.inDoubtSinceMs === undefined ? failed(error) : inDoubt;
    // What is given up is not to go on later.
    return { task: setOutcome(again, told).task, effects: [{ type: "cancel" }] };
  }
  // Whether it still asks says whether the answer arrived.
  return mayDouble(again, policy)
    ? { task: again, effects: [{ type: "poll", by: "task_id" }] }
    : retryLater(again, error, nowMs);
}

function mayDouble(task: Task, policy: Policy): boolean {
  const { sentToAgent, inDoubtSinceMs } = task.question?.answer ?? {};
  return sentToAgent === true || (inDoubtSinceMs !== undefined && !destinationOf(task, policy).idempotent);
}

const inDoubt = failed({ reason: "ambiguous", lost: false });

/** A call may have brought the answer to the agent. */
export function answerInDoubt(task: Task, nowMs: number): Task {
  const { question } = task;
  if (question?.answer === undefined) return task;
  return { ...task, question: { ...question, answer: { ...question.answer, inDoubtSinceMs: nowMs } } };
}

/** Looking at a task that asks failed: for its credentials, or for whether its answer arrived. */
export function lookFailed(task: Task, { error, nowMs }: { error: CallFailure; nowMs: number }): Step {
  if (endsTheTask(error) || error.reason === "task_not_found") return setOutcome(task, failed(error));
  const again = countFailure(task, error);
  const isAnswered = task.question?.answer !== undefined;
  if (isAnswered && isGivenUp(again, nowMs))
    return { task: setOutcome(task, inDoubt).task, effects: [{ type: "cancel" }] };
  return retryLater(again, error, nowMs);
}

/** A peer that is away may come back; one that lets us in no more, or answers nonsense, hardly does. */
function isGivenUp(task: Task, nowMs: number): boolean {
  return (task.nonTransientFailures ?? 0) >= maxAttempts || isPastDeadline(task, nowMs - graceMs);
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
      ...advance(waited(task, nowMs), {}),
      question: { ...question, answer },
      ...(from === undefined ? {} : { answeredBy: [...(task.answeredBy ?? []), from] }),
    },
  };
}

/** Whether what was said at `ts` was said when the question stood in the thread, by Slack's own clock where that is known. */
export function isSaidAfter({ askedAtMs, ts: questionTs }: Question, ts: string): boolean {
  return Number(ts) > Number(questionTs ?? askedAtMs / 1000);
}
