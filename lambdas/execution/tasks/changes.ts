/** The changes of a task's record, as pure functions. Each returns the next record, or undefined if the task's state forbids the change. */
import { readQuestionFields } from "@sekisho/contracts/a2a/fields-part.ts";
import { joinTextParts, type Message } from "@sekisho/contracts/a2a/part.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { canTransition, isTerminal, type TaskState } from "@sekisho/contracts/methods.ts";
import {
  addMessages,
  createAnswerMessage,
  createQuestionMessage,
  type ExecutionOutcome,
  type ExecutionTask,
  type OpenQuestion,
  type PassedState,
  type PersonAnswer,
  withoutUnknown,
} from "./execution-task.ts";

export type TaskChange = (task: ExecutionTask) => ExecutionTask | undefined;

/**
 * Takes the lease of an unstarted task, so that an agent starts at most once. An owner may take its own lease again, because the response
 * to its first attempt may have been lost.
 */
export function startChange({ owner, untilMs }: { owner: string; untilMs: number }): TaskChange {
  return (task) =>
    isUnstarted(task) || isHeldBy(task, owner)
      ? { ...task, state: "working", lease: { owner, untilMs } }
      : undefined;
}

/** The longest time between two copies of a task's queue message. */
const maxGapMs = 15 * 60_000;

/**
 * Claims the right to send a task's queue message again, because the first one may have been lost. Only one process gets it within
 * `everyMs`. The gap doubles each time, up to 15 minutes, so that a task in a long queue does not get a copy every minute.
 */
export function requeueChange({ nowMs, everyMs }: { nowMs: number; everyMs: number }): TaskChange {
  return (task) => {
    const { queuedAtMs = task.changedAtMs } = task;
    const gapMs = Math.max(everyMs, Math.min(queuedAtMs - task.changedAtMs, maxGapMs));
    return isUnstarted(task) && nowMs - queuedAtMs > gapMs
      ? { ...task, queuedAtMs: nowMs }
      : undefined;
  };
}

export function renewChange({ owner, untilMs }: { owner: string; untilMs: number }): TaskChange {
  return (task) => (isHeldBy(task, owner) ? { ...task, lease: { owner, untilMs } } : undefined);
}

/** The agent's report while it works: the latest progress, and all artifacts so far. */
export type RunReport = { progress?: ExecutionTask["progress"]; artifacts?: Artifact[] };

export function reportChange({ owner, news }: { owner: string; news: RunReport }): TaskChange {
  return (task) => (isHeldBy(task, owner) ? { ...task, ...news } : undefined);
}

/** Ends the turn with a question. No run holds the task until it is answered. The record is kept at least until `expiresAtMs`. */
export function questionChange(request: {
  owner: string;
  question: OpenQuestion;
  expiresAtMs: number;
  artifacts?: Artifact[];
}): TaskChange {
  const { owner, question, expiresAtMs, ...news } = request;
  return (task) => {
    if (!isHeldBy(task, owner)) return undefined;
    const { lease: _lease, progress: _progress, queuedAtMs: _queuedAtMs, ...unleasedTask } = task;
    return {
      ...unleasedTask,
      ...news,
      state: "input_required",
      question,
      expiresAtMs: Math.max(task.expiresAtMs, expiresAtMs),
    };
  };
}

/**
 * Answers the question. The next run that takes the lease continues the task. The deadline moves by the time that the question was open.
 * `message` is the answer as an A2A message.
 */
export function answerChange(request: {
  answer: PersonAnswer;
  message?: Message | undefined;
  nowMs: number;
  retentionMs: number;
}): TaskChange {
  const { answer, message, nowMs, retentionMs } = request;
  return (task) => {
    if (task.state !== "input_required") return undefined;
    const { question: _question, ...answeredTask } = task;
    const newMessages = [
      createQuestionMessage(task),
      message ?? createAnswerMessage({ task, answer }),
    ].filter((newMessage) => newMessage !== undefined);
    const answers = [...(task.answers ?? []), answer];
    // The question was asked when the task entered its state.
    const deadlineAtMs = task.deadlineAtMs + Math.max(0, nowMs - task.changedAtMs);
    const expiresAtMs = Math.max(task.expiresAtMs, deadlineAtMs + retentionMs);
    return addMessages({
      task: { ...answeredTask, state: "working", answers, deadlineAtMs, expiresAtMs },
      messages: newMessages,
    });
  };
}

/** Ends the task with the outcome of its own run. */
export function endChange(request: {
  owner: string;
  outcome: ExecutionOutcome;
  artifacts?: Artifact[];
  expiresAtMs: number;
}): TaskChange {
  const { owner, outcome, artifacts, expiresAtMs } = request;
  return (task) =>
    isHeldBy(task, owner)
      ? endTask({
          task: { ...task, ...(artifacts && { artifacts }) },
          state: stateAfterAnswer(outcome),
          outcome,
          expiresAtMs,
        })
      : undefined;
}

/** Ends a task whose question expired. */
export function expiryChange({
  nowMs,
  expiresAtMs,
}: {
  nowMs: number;
  expiresAtMs: number;
}): TaskChange {
  const outcome: ExecutionOutcome = { type: "failure", reason: "timeout" };
  return (task) =>
    isUnanswered({ task, nowMs })
      ? endTask({ task, state: "failed", outcome, expiresAtMs })
      : undefined;
}

export function isUnanswered({ task, nowMs }: { task: ExecutionTask; nowMs: number }): boolean {
  return task.state === "input_required" && nowMs >= questionEndsAtMs(task);
}

/** When the question expires: at its own time, or else at the task's deadline. */
export function questionEndsAtMs({
  question,
  deadlineAtMs,
}: Pick<ExecutionTask, "question" | "deadlineAtMs">): number {
  return question?.expiresAtMs ?? deadlineAtMs;
}

/** Ends a task as lost: its lease expired and `lostAfterMs` passed without a renewal. The agent never runs again. */
export function lossChange(request: {
  nowMs: number;
  lostAfterMs: number;
  expiresAtMs: number;
}): TaskChange {
  const outcome: ExecutionOutcome = { type: "failure", reason: "execution_failed", lost: true };
  const { expiresAtMs } = request;
  return (task) =>
    isLost({ task, ...request })
      ? endTask({ task, state: "failed", outcome, expiresAtMs })
      : undefined;
}

export function cancelChange({ expiresAtMs }: { expiresAtMs: number }): TaskChange {
  return (task) => endTask({ task, state: "canceled", expiresAtMs });
}

/** A record keeps the votes of so many people. */
const maxVoters = 100;

/** Stores a vote in place of an earlier one of the same person. An older one changes nothing, so repeated and late requests do no harm. */
export function voteChange(vote: NonNullable<ExecutionTask["votes"]>[number]): TaskChange {
  return (task) => {
    const { votes = [], state } = task;
    const earlierVote = votes.find(({ voterId }) => voterId === vote.voterId);
    if (state !== "completed" || (earlierVote !== undefined && earlierVote.atMs >= vote.atMs))
      return undefined;
    return {
      ...task,
      votes: [...votes.filter((one) => one !== earlierVote), vote].slice(-maxVoters),
    };
  };
}

export function isLost(request: {
  task: ExecutionTask;
  nowMs: number;
  lostAfterMs: number;
}): boolean {
  const { task, nowMs, lostAfterMs } = request;
  return (
    task.state === "working" &&
    task.lease !== undefined &&
    nowMs >= task.lease.untilMs + lostAfterMs
  );
}

/** True if the task waits for a run: it is new, or its question was answered. */
export function isUnstarted({ state, lease }: Pick<ExecutionTask, "state" | "lease">): boolean {
  return state === "submitted" || (state === "working" && lease === undefined);
}

export function isOver(task: Pick<ExecutionTask, "state">): boolean {
  return isTerminal(task.state);
}

/** Removes a task from the A2A listing. After a direct answer, its client has never seen the task. */
export const unlistChange: TaskChange = ({ listedAtMs: _listedAtMs, ...task }) => task;

/** True if the agent has nothing to do now: the task is over or waits for an answer. */
export function isTurnOver(task: ExecutionTask): boolean {
  return isOver(task) || isAsking(task);
}

export function isAsking(task: Pick<ExecutionTask, "state">): boolean {
  return task.state === "input_required";
}

function isHeldBy(task: ExecutionTask, owner: string): boolean {
  return task.state === "working" && task.lease?.owner === owner;
}

function stateAfterAnswer(outcome: ExecutionOutcome): TaskState {
  if (outcome.type === "success") return "completed";
  return outcome.reason === "plan_error" ? "rejected" : "failed";
}

/** Ends the task. Ids, outcome, artifacts and times stay until the record expires; the input is removed. */
function endTask(request: {
  task: ExecutionTask;
  state: TaskState;
  outcome?: ExecutionOutcome;
  expiresAtMs: number;
}): ExecutionTask | undefined {
  const { state, outcome, expiresAtMs } = request;
  const { task } = request;
  if (!canTransition({ from: task.state, to: state })) return undefined;
  const answers = task.answers?.map(({ id, questionId, fingerprint }) => ({
    ...{ id, questionId, fingerprint },
    prompt: "",
    text: "",
  }));
  const questionMessage = createQuestionMessage(task);
  const removedFields = {
    params: undefined,
    asker: undefined,
    lease: undefined,
    progress: undefined,
    question: undefined,
  };
  const endedTask = {
    ...task,
    ...removedFields,
    state,
    expiresAtMs,
    ...(outcome && { outcome }),
    ...(answers && { answers }),
  };
  return addMessages({
    task: withoutUnknown(endedTask),
    messages: questionMessage === undefined ? [] : [questionMessage],
  });
}

/** How many past states a record keeps. A watcher reads at least once a second, so these cover what it missed between two reads. */
const maxPassed = 10;

/** Sets the time of the change of state, to which a listed task also moves in the listing. An A2A task keeps the state that it left. */
export function enterState(change: {
  from: ExecutionTask;
  task: ExecutionTask;
  nowMs: number;
}): ExecutionTask {
  const { from, task, nowMs } = change;
  const { a2a, listedAtMs } = task;
  const passedStates = a2a && [...(a2a.passed ?? []), toPassedState(from)].slice(-maxPassed);
  return {
    ...task,
    changedAtMs: nowMs,
    ...(listedAtMs !== undefined && { listedAtMs: nowMs }),
    ...(a2a && { a2a: { ...a2a, passed: passedStates } }),
  };
}

function toPassedState({ state, changedAtMs: atMs, question }: ExecutionTask): PassedState {
  if (question === undefined) return { state, atMs };
  const { messageId, kind } = question;
  return { state, atMs, messageId, ...(kind && { kind }) };
}

/** Rebuilds the records of the states between two records, and adds the later record. */
export function listRecordsBetween(request: {
  previousTask: ExecutionTask;
  nextTask: ExecutionTask;
}): ExecutionTask[] {
  const { previousTask, nextTask } = request;
  const passedStates = nextTask.a2a?.passed ?? [];
  const index = passedStates.findIndex(
    ({ state, atMs }) => state === previousTask.state && atMs === previousTask.changedAtMs,
  );
  const unseenStates =
    index < 0
      ? passedStates.filter(({ atMs }) => atMs > previousTask.changedAtMs)
      : passedStates.slice(index + 1);
  return [
    ...unseenStates.map((state) => restorePassedState({ record: nextTask, passedState: state })),
    nextTask,
  ];
}

function restorePassedState(request: {
  record: ExecutionTask;
  passedState: PassedState;
}): ExecutionTask {
  const { outcome: _outcome, progress: _progress, question: _question, ...record } = request.record;
  const { state, atMs, messageId, kind } = request.passedState;
  const passedTask = { ...record, state, changedAtMs: atMs };
  if (messageId === undefined) return passedTask;
  const { parts = [] } =
    record.a2a?.messages.find((message) => message.messageId === messageId) ?? {};
  const fields = readQuestionFields(parts);
  const question = {
    prompt: joinTextParts(parts),
    messageId,
    ...(fields && { fields }),
    ...(kind && { kind }),
  };
  return { ...passedTask, question };
}
