/** The agent's question to a person: asked, open until it expires, answered once, and brought to the agent. */
import type { TaskResult } from "../../../contracts/methods.ts";
import { retryDelayMs } from "./delays.ts";
import { end, endsTheTask } from "./ending.ts";
import type { CallAct, CallFailure } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { deliveryMs } from "./received.ts";
import { advance, conclude, failed, graceMs, later, maxAttempts, type Step, untilDeadlineMs, wake } from "./step.ts";
import type { GivenAnswer, Question, Task } from "./task.ts";

/** How often is looked whether the credentials that the agent lacks are there. */
const authPollMs = 30_000;

type InputRequired = Extract<TaskResult, { status: "input_required" }>;

/** The question is in the record before anybody sees it. */
export function asks(
  task: Task,
  { result, nowMs, policy }: { result: InputRequired; nowMs: number; policy: Policy },
): Step {
  const { prompt, options = [], kind, question_id: id, expires_at, task_id: taskId } = result;
  const mostMs = nowMs + destinationOf(task, policy).questionMs;
  const givenMs = expires_at === undefined ? Number.NaN : Date.parse(expires_at);
  const question: Question = {
    index: (task.question?.index ?? -1) + 1,
    ...(id === undefined ? {} : { id }),
    prompt,
    options,
    ...(kind === undefined ? {} : { kind }),
    askedAtMs: nowMs,
    expiresAtMs: Number.isNaN(givenMs) ? mostMs : Math.min(givenMs, mostMs),
  };
  const { progress: _progress, ...rest } = task;
  return { task: advance(rest, { state: "asking", taskId, question }), effects: [wake(0)] };
}

/** What an open question needs next. `heal`: its message may be there already. */
export function wokenAsking(task: Task, { nowMs, heal }: { nowMs: number; heal: boolean }): Step {
  const { question } = task;
  if (task.ending !== undefined || question === undefined) return { task, effects: [{ type: "cancel" }] };
  if (question.answer !== undefined)
    return { task, effects: [task.attempts === 0 ? { type: "show_question" } : { type: "answer" }] };
  if (nowMs >= question.expiresAtMs) return end(task, "unanswered");
  if (question.ts === undefined) {
    // It holds its thread for as long as the question is open, and the time that it has left after that.
    const untilMs = question.expiresAtMs + untilDeadlineMs(task, question.askedAtMs) + graceMs + deliveryMs;
    return {
      task: { ...task, attempts: heal ? Math.max(1, task.attempts) : 0 },
      effects: [{ type: "hold_thread", untilMs }],
    };
  }
  if (question.kind === "auth") return { task, effects: [{ type: "poll", by: "task_id" }] };
  return { task, effects: [wake(question.expiresAtMs - nowMs)] };
}

export function asked(task: Task, { ts, nowMs }: { ts: string; nowMs: number }): Step {
  if (task.question === undefined) return { task, effects: [wake(0)] };
  const { expiresAtMs, kind } = task.question;
  const delayMs = kind === "auth" ? authPollMs : expiresAtMs - nowMs;
  const question = { ...task.question, ts };
  return { task: { ...task, attempts: 0, question }, effects: [wake(Math.max(0, delayMs))] };
}

/** What a poll, or the answer's own call, says of a task that asks: it goes on, or it asks (again). */
export function stillAsks(
  task: Task,
  request: { act: CallAct; result: InputRequired; nowMs: number; policy: Policy },
): Step {
  const { question } = task;
  const { act, result, nowMs } = request;
  if (question === undefined || act !== "poll") return asks(task, request);
  if (question.answer === undefined)
    return { task, effects: [wake(Math.min(authPollMs, Math.max(0, question.expiresAtMs - nowMs)))] };
  // The answer has not arrived. Without a question's id nobody knows whether it is asked again: then so is the person.
  const isSame = question.id !== undefined && result.question_id === question.id;
  return isSame ? { task, effects: [wake(retryDelayMs(task.attempts, undefined))] } : asks(task, request);
}

/** The answer's call failed; it is repeated under its own id, where that is known to be safe. */
export function answerFailed({ task, error, policy }: { task: Task; error: CallFailure; policy: Policy }): Step {
  if (endsTheTask(error) || error.reason === "task_not_found") return conclude(task, failed(error));
  // It has gone on, or is over: what it came to is there.
  if (error.reason === "invalid_state") return { task, effects: [{ type: "poll", by: "task_id" }] };
  const isInDoubt = error.reason === "ambiguous" || error.reason === "invalid_response";
  const again = { ...(isInDoubt ? answerInDoubt(task) : task), attempts: task.attempts + 1 };
  const told = again.question?.answer?.inDoubt ? inDoubt : failed(error);
  if (!error.retryable && !isInDoubt) return conclude(task, told);
  // What is given up is not to go on later.
  if (again.attempts >= maxAttempts) return { task: conclude(again, told).task, effects: [{ type: "cancel" }] };
  // At a peer that may not know a repetition: whether it still asks says whether the answer arrived.
  const mayDouble = isInDoubt && !destinationOf(task, policy).idempotent;
  return mayDouble ? { task: again, effects: [{ type: "poll", by: "task_id" }] } : later(again, error);
}

const inDoubt = failed({ reason: "ambiguous", lost: false });

function answerInDoubt(task: Task): Task {
  const { question } = task;
  if (question?.answer === undefined) return task;
  return { ...task, question: { ...question, answer: { ...question.answer, inDoubt: true } } };
}

/** Looking at a task that asks failed: for its credentials, or for whether its answer arrived. */
export function lookFailed(task: Task, { error }: { error: CallFailure }): Step {
  if (endsTheTask(error) || error.reason === "task_not_found") return conclude(task, failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  const isAnswered = task.question?.answer !== undefined;
  if (isAnswered && again.attempts >= maxAttempts) return conclude(task, inDoubt);
  return later(again, error);
}

/** Why a question does not take an answer (any more). */
export type NotTaken = { type: "answered"; by: string; atMs: number } | { type: "expired" } | { type: "over" };

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
}): { task: Task } | { notTaken: NotTaken } {
  const { question } = task;
  if (question === undefined || (index ?? question.index) !== question.index) return { notTaken: { type: "over" } };
  const given = question.answer;
  if (given !== undefined) return { notTaken: { type: "answered", by: given.user, atMs: given.atMs } };
  if (task.state !== "asking") return { notTaken: { type: "over" } };
  if (task.ending !== undefined || nowMs >= question.expiresAtMs) return { notTaken: { type: "expired" } };
  // The time in which it waited for a person is not its own.
  const waitedMs = Math.max(0, nowMs - question.askedAtMs);
  const { deadlineAtMs } = task;
  return {
    task: {
      ...task,
      attempts: 0,
      question: { ...question, answer },
      ...(answer.from === undefined ? {} : { answeredBy: [...(task.answeredBy ?? []), answer.from] }),
      ...(deadlineAtMs === undefined ? {} : { deadlineAtMs: deadlineAtMs + waitedMs }),
    },
  };
}
