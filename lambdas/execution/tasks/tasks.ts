/** The operations on tasks, each scoped to one principal: submit, find, answer, cancel, list, and wait for changes. */

import type { Message } from "@sekisho/contracts/a2a/part.ts";
import type { RequestId } from "@sekisho/contracts/envelope.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { checkFieldValues, describeFieldProblem } from "@sekisho/contracts/field-values.ts";
import { transitionError } from "@sekisho/contracts/methods.ts";
import type { FieldValues } from "@sekisho/contracts/question-fields.ts";
import type { Trace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { type CallerLimits, createTooManyCallsError, unlimitedSlots } from "../limits.ts";
import { createParamsError } from "../params-error.ts";
import {
  answerChange,
  cancelChange,
  isAsking,
  isOver,
  isUnstarted,
  type TaskChange,
} from "./changes.ts";
import {
  addMessages,
  deriveTaskId,
  type ExecutionTask,
  type OpenQuestion,
  type PersonAnswer,
  type StoredPushConfig,
  type TaskInput,
} from "./execution-task.ts";
import {
  createSessionEndingError,
  endlessLifetime,
  type Lifetime,
  leastUnnamedMs,
} from "./lifetime.ts";
import {
  type ChangeTask,
  checkSize,
  type ExecutionStore,
  type TaskSignal,
  throwTaskGone,
  waitForChange,
  watchTask,
} from "./task-store.ts";

type TaskName = { principal: string; taskId?: string | undefined; requestId?: string | undefined };

export type Tasks = {
  /**
   * Creates the task, or finds the one with the same request id, and starts it if nobody has. Stores nothing and rejects with
   * `session_ending` if this process ends before the task's deadline, or with `rate_limited` if the caller has too many runs here.
   */
  submit(submission: Submission): Promise<ExecutionTask>;
  /** Returns the task, after starting or ending it if that was due. Rejects with `task_not_found`. */
  find(name: TaskName): Promise<ExecutionTask>;
  /**
   * Answers the open question and continues the task. The same answer again changes nothing. Rejects with `invalid_state` if there is
   * no question, `already_exists` if the id came with another answer, `invalid_params` for an invalid answer, `payload_too_large`, and
   * with `session_ending` or `rate_limited` like `submit`.
   */
  answer(request: TaskName & AnswerSubmission): Promise<ExecutionTask>;
  cancel(name: TaskName): Promise<ExecutionTask>;
  /** Makes a change that every state allows, such as one of the push configurations. Rejects with `task_not_found`. */
  update(request: TaskName & { change: TaskChange }): Promise<ExecutionTask>;
  /** Starts or ends a listed task if that is due. */
  advanceIfDue: AdvanceIfDue;
  /** The principal's listed tasks, the latest change of state first. Rejects with a RangeError for an unknown cursor. */
  list(request: {
    principal: string;
    cursor?: string | undefined;
    limit: number;
  }): Promise<{ items: ExecutionTask[]; cursor?: string }>;
  /** Yields the task's records from this one on, until its turn ends or `until` holds, `signal` aborts, or the host stops. */
  watch(request: {
    task: ExecutionTask;
    until?: ((task: ExecutionTask) => boolean) | undefined;
    signal: AbortSignal;
  }): AsyncIterable<ExecutionTask>;
  /**
   * Resolves to the record once `until` holds for it, or to the current record after `timeoutMs`. Resolves at once if the caller may
   * not wait or has too many calls open.
   */
  wait(request: {
    task: ExecutionTask;
    until: (task: ExecutionTask) => boolean;
    timeoutMs: number;
  }): Promise<ExecutionTask>;
};

/** Starts an unstarted task or ends one that is due to end. Resolves to the current record; rejects with `task_not_found` if it has expired. */
export type AdvanceIfDue = (task: ExecutionTask) => Promise<ExecutionTask>;

export type Start = {
  task: ExecutionTask;
  /** True if the task's own request starts it, and not a read that finds it unstarted. */
  isSubmission: boolean;
  /** Present only in the request that sent it, because it is not stored. */
  botToken?: string | undefined;
};

/** Why an agent is stopped before its end. `superseded`: another process may have taken the task over. */
export type StopCause = "timeout" | "canceled" | "stopped" | "superseded";

/** Starts and stops the runs of tasks. */
export type TaskRuns = {
  /** Starts an unstarted task. Resolves to the current record, or to undefined if it expired. */
  start(request: Start): Promise<ExecutionTask | undefined>;
  stop(request: { id: string; cause: StopCause }): void;
  has(id: string): boolean;
  /** The latest record of a task that runs here, or else undefined. */
  latest(id: string): ExecutionTask | undefined;
};

type TaskSettings = {
  store: ExecutionStore;
  runs: TaskRuns;
  changeSignal: TaskSignal;
  changeTask: ChangeTask;
  advanceIfDue: AdvanceIfDue;
  lifetime?: Lifetime;
  callerLimits?: CallerLimits;
  /** True if a caller's calls may be held open. Default: everyone's. */
  mayWait?: ((principal: string) => boolean) | undefined;
  maxTaskMs: number;
  retentionMs: number;
  now: () => number;
  newId: () => string;
  random?: () => number;
  /** Nobody waits once the host has stopped. */
  isStopped: () => boolean;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createTasks(settings: TaskSettings): Tasks {
  const {
    store,
    runs,
    changeSignal,
    changeTask,
    advanceIfDue,
    lifetime = endlessLifetime,
    maxTaskMs,
  } = settings;
  const { retentionMs, now, newId, random = Math.random, isStopped } = settings;
  const { callerLimits = { runs: unlimitedSlots, calls: unlimitedSlots }, mayWait = () => true } =
    settings;

  /** Numbers the waits, each of which is an open call. */
  let waits = 0;

  async function read({ principal, taskId, requestId }: TaskName): Promise<ExecutionTask> {
    const id =
      taskId ?? (requestId === undefined ? undefined : deriveTaskId({ principal, requestId }));
    const task = id === undefined ? undefined : await store.get({ id });
    if (task?.principal !== principal) throw new SekishoError("task_not_found");
    return task;
  }

  /** `refusal` says why a new task may not begin here; an earlier request's task is still found. */
  async function createOrFind(
    wanted: ExecutionTask,
    refusal: SekishoError | undefined,
  ): Promise<ExecutionTask> {
    const created = refusal === undefined ? await store.create({ item: wanted }) : undefined;
    const task = created ?? (await store.get({ id: wanted.id }));
    if (task !== undefined) return task;
    // Without a refusal, the record expired between the two calls: the next attempt creates it.
    throw refusal ?? new SekishoError("unavailable");
  }

  async function createAndStart(
    wanted: ExecutionTask,
    { submission, refusal }: { submission: Submission; refusal: SekishoError | undefined },
  ): Promise<ExecutionTask> {
    const task = await createOrFind(wanted, refusal);
    if (task.fingerprint !== wanted.fingerprint)
      throw new SekishoError("already_exists", { details: { task_id: task.id } });
    if (!isUnstarted(task)) return advanceIfDue(task);
    if (!lifetime.canFinish(task)) throw createSessionEndingError();
    return (
      (await runs.start({ task, isSubmission: true, botToken: submission.botToken })) ??
      throwTaskGone()
    );
  }

  /** Why the task may not begin here now; undefined if it may. */
  function refuseToBegin({
    task,
    hasSlot,
  }: {
    task: ExecutionTask;
    hasSlot: boolean;
  }): SekishoError | undefined {
    if (!lifetime.canFinish(task)) return createSessionEndingError();
    return hasSlot ? undefined : createTooManyCallsError({ random });
  }

  function toWatchRequest(task: ExecutionTask) {
    const isRunningHere = () => runs.has(task.id);
    const reread = async () => advanceIfDue((await store.get({ id: task.id })) ?? throwTaskGone());
    return { task, changeSignal, isRunningHere, isStopped, reread };
  }

  return {
    async submit(submission) {
      const wanted = createExecutionTask({
        submission,
        maxTaskMs,
        leftMs: lifetime.leftMs(),
        retentionMs,
        newId,
      });
      // The run then holds the same slot.
      const release = callerLimits.runs.take(wanted);
      const refusal = refuseToBegin({ task: wanted, hasSlot: release !== undefined });
      try {
        return await createAndStart(wanted, { submission, refusal });
      } catch (thrown) {
        if (!(thrown instanceof SekishoError) || thrown.reason !== "unavailable") throw thrown;
        // The task may be stored, and a later read may start it. The task id tells the caller not to use another destination.
        throw new SekishoError("unavailable", { details: { task_id: wanted.id }, cause: thrown });
      } finally {
        release?.();
      }
    },
    async find(name) {
      return advanceIfDue(await read(name));
    },
    async answer({ answer, message, alongside, isNew, ...name }) {
      const task = await advanceIfDue(await read(name));
      const isToBegin = isAsking(task) || isUnstarted(task);
      const release = callerLimits.runs.take(task);
      try {
        const refusal = isToBegin
          ? refuseToBegin({ task, hasSlot: release !== undefined })
          : undefined;
        if (refusal !== undefined) throw refusal;
        const change = createAnswerChange({
          answer,
          message,
          alongside,
          isNew,
          nowMs: now(),
          retentionMs,
        });
        const { task: current = throwTaskGone(), changed } = await changeTask({ task, change });
        if (!changed) checkRepetition({ task: current, answer, message, isNew });
        if (!isUnstarted(current)) return current;
        // A repeated answer also starts the task if the first one could not.
        return (await runs.start({ task: current, isSubmission: true })) ?? throwTaskGone();
      } finally {
        release?.();
      }
    },
    async cancel(name) {
      const task = await read(name);
      const { task: current = throwTaskGone(), changed } = await changeTask({
        task,
        change: cancelChange({ expiresAtMs: now() + retentionMs }),
      });
      if (changed) runs.stop({ id: task.id, cause: "canceled" });
      if (current.state === "canceled") return current;
      const { id: taskId, correlationId, state: from } = current;
      throw transitionError({ taskId, correlationId, from, to: "canceled" });
    },
    async update({ change, ...name }) {
      return (await changeTask({ task: await read(name), change })).task ?? throwTaskGone();
    },
    advanceIfDue,
    async list({ principal, cursor, limit }) {
      return store.list({
        index: "principal",
        key: principal,
        limit,
        ...(cursor !== undefined && { cursor }),
      });
    },
    watch: ({ task, ...rest }) => watchTask({ ...toWatchRequest(task), ...rest }),
    async wait({ task: asked, until, timeoutMs }) {
      if (timeoutMs <= 0 || !mayWait(asked.principal)) return asked;
      const isDone = (seen: ExecutionTask) => isOver(seen) || until(seen);
      // The run may have changed the record while nobody listened, and another process may have changed it since the run did.
      const here = runs.latest(asked.id);
      const task = here !== undefined && here.revision > asked.revision ? here : asked;
      if (isDone(task)) return task;
      const release = callerLimits.calls.take({ principal: task.principal, id: `wait ${waits++}` });
      if (release === undefined) return task;
      try {
        return await waitForChange({ ...toWatchRequest(task), until: isDone, timeoutMs });
      } finally {
        release();
      }
    },
  };
}

type Submission = {
  principal: string;
  /** The same for every repetition; undefined if repetitions cannot be recognized. */
  taskId: string | undefined;
  /** The id of the request or the A2A message that begins the task. */
  requestId: RequestId;
  /** Identifies the content, which a repetition must share. */
  fingerprint: string;
  input: TaskInput;
  /** Goes to the agent and is not stored. */
  botToken?: string | undefined;
  trace: Trace;
  receivedAtMs: number;
  /** Present if the task came over A2A. */
  a2a?: { contextId: string; message: Message; pushConfigs: StoredPushConfig[] | undefined };
};

/** The contract's limit for a correlation id. An A2A message id may be longer. */
const maxCorrelationIdLength = 128;

/**
 * The deadline counts from the receipt, because the clocks of the zones may differ. A request without a timeout gets the rest of the
 * process's life (`leftMs`), but at least a quarter of an hour. Throws `payload_too_large` for an A2A message that does not fit into a
 * record, which holds its text and files twice.
 */
export function createExecutionTask(options: {
  submission: Submission;
  maxTaskMs: number;
  leftMs?: number;
  retentionMs: number;
  newId: () => string;
}): ExecutionTask {
  const { principal, taskId, requestId, fingerprint, input, trace, receivedAtMs, a2a } =
    options.submission;
  const { maxTaskMs, leftMs = Number.POSITIVE_INFINITY, retentionMs, newId } = options;
  const deadlineAtMs =
    receivedAtMs + Math.min(input.timeout_ms ?? Math.max(leftMs, leastUnnamedMs), maxTaskMs);
  const id = taskId ?? newId();
  const requestName = String(requestId);
  const task: ExecutionTask = {
    id,
    revision: 1,
    state: "submitted",
    principal,
    requestId,
    correlationId:
      input.correlation_id ?? (requestName.length > maxCorrelationIdLength ? id : requestName),
    fingerprint,
    trace,
    createdAtMs: receivedAtMs,
    changedAtMs: receivedAtMs,
    deadlineAtMs,
    expiresAtMs: deadlineAtMs + retentionMs,
    ...(input.callback === true && { callback: true as const }),
    params: input,
  };
  if (a2a === undefined) return task;
  const { contextId, message, pushConfigs } = a2a;
  const own = { contextId, messages: [], ...(pushConfigs && { pushConfigs }) };
  return checkSize(
    addMessages({ task: { ...task, listedAtMs: receivedAtMs, a2a: own }, messages: [message] }),
  );
}

/**
 * `message` is the answer as an A2A message. `alongside` is a further change that is made if the answer is accepted. An answer without a
 * `questionId` is for the open question.
 */
type AnswerSubmission = {
  answer: Omit<PersonAnswer, "prompt">;
  message?: Message | undefined;
  alongside?: TaskChange | undefined;
  /** True if a known id does not mean that the answer is a repetition. */
  isNew?: boolean | undefined;
};

/** The time of the answer, and how long a record is kept after its task is over. */
type Times = { nowMs: number; retentionMs: number };

/**
 * Returns undefined if the task does not ask this question, or if the answer's id is known: a late repetition must not answer the next
 * question. Throws `invalid_params` for an invalid answer, and `payload_too_large` if it does not fit into the record.
 */
function createAnswerChange(request: AnswerSubmission & Times): TaskChange {
  const { answer: said, message, alongside, isNew = false, ...times } = request;
  return (task) => {
    const { question, answers } = task;
    const isRepeated = !isNew && answers?.some(({ id }) => id === said.id);
    if (question === undefined || isRepeated) return undefined;
    const { messageId: questionId, prompt } = question;
    if (said.questionId !== undefined && said.questionId !== questionId) return undefined;
    const fields = checkAnswer({ said, question, isMessage: message !== undefined });
    const answer = { ...said, questionId, prompt, ...(fields && { fields }) };
    const next = answerChange({ answer, message, ...times })(task);
    return next && checkSize(alongside?.(next) ?? next);
  };
}

/**
 * Accepts an answer that changed nothing if it repeats an earlier one. Throws `already_exists` if its id came with other content, and
 * `invalid_state` if it is new. A button that is clicked twice makes two requests with the same content, which name their question or
 * else mean the latest one. An A2A message is recognized only by its id (A2A 1.0, section 4.1.4).
 */
function checkRepetition(request: AnswerSubmission & { task: ExecutionTask }): void {
  const { task, answer: said, message, isNew = false } = request;
  const known = isNew ? undefined : task.answers?.find(({ id }) => id === said.id);
  if (known !== undefined) {
    const isToAnother = said.questionId !== undefined && said.questionId !== known.questionId;
    if (known.fingerprint === said.fingerprint && !isToAnother) return;
    throw new SekishoError("already_exists", { details: { task_id: task.id } });
  }
  const given =
    said.questionId === undefined
      ? task.answers?.at(-1)
      : task.answers?.find(({ questionId }) => questionId === said.questionId);
  const isSameAgain = message === undefined && given?.fingerprint === said.fingerprint;
  const { id: taskId, correlationId, state: from } = task;
  if (!isSameAgain) throw transitionError({ taskId, correlationId, from, to: "working" });
}

/**
 * Throws if the option was not offered, a value does not fit its field, or the answer is empty. Free text is allowed even if the question
 * has options or fields. Returns the values that are given.
 */
function checkAnswer(request: {
  said: AnswerSubmission["answer"];
  question: OpenQuestion;
  isMessage: boolean;
}): FieldValues | undefined {
  const { said, question, isMessage } = request;
  const { option_id, text, fields, parts = [] } = said;
  if (option_id !== undefined && !question.options?.some(({ id }) => id === option_id)) {
    throw createParamsError([
      { path: isMessage ? ["message", "metadata"] : ["option_id"], message: "was not offered" },
    ]);
  }
  const isBlank =
    !isVisible(text) && parts.every((part) => part.text !== undefined && !isVisible(part.text));
  const saysNothing = option_id === undefined && fields === undefined && isBlank;
  if (saysNothing) {
    throw createParamsError([
      {
        path: isMessage ? ["message", "parts"] : ["text"],
        message: "must not be blank without an option",
      },
    ]);
  }
  return fields === undefined ? undefined : checkFields({ values: fields, question, isMessage });
}

function checkFields(request: {
  values: FieldValues;
  question: OpenQuestion;
  isMessage: boolean;
}): FieldValues {
  const { values, question, isMessage } = request;
  const checked = checkFieldValues({ fields: question.fields ?? [], values });
  if ("values" in checked) return checked.values;
  const path = isMessage ? ["message", "parts", "fields"] : ["fields"];
  throw createParamsError(
    checked.problems.map(({ id, problem }) => ({
      path: [...path, id],
      message: describeFieldProblem(problem),
    })),
  );
}
