/** The operations on tasks, each scoped to one principal: submit, find, answer, cancel, list, and wait for changes. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { transitionError } from "@sekisho/contracts/methods.ts";
import { type CallerLimits, createTooManyCallsError, unlimitedSlots } from "../limits.ts";
import {
  type AskerToken,
  isSamePerson,
  type ReceivedAsker,
  selectAskerToken,
} from "../received-asker.ts";
import { type AnswerSubmission, checkRepetition, createAnswerChange } from "./answers.ts";
import { cancelChange, isAsking, isOver, isUnstarted, type TaskChange } from "./changes.ts";
import { deriveTaskId, type ExecutionTask } from "./execution-task.ts";
import { createSessionEndingError, endlessLifetime, type Lifetime } from "./lifetime.ts";
import { createExecutionTask, type Submission } from "./submission.ts";
import {
  type ChangeTask,
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
  answer(
    request: TaskName & AnswerSubmission & { asker?: ReceivedAsker | undefined },
  ): Promise<ExecutionTask>;
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
  /** The token of the person who asked for the task. Present only in a request of that person. */
  askerToken?: AskerToken | undefined;
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

export function createTasks(settings: TaskSettings): Tasks {
  const { store, runs, changeTask, advanceIfDue, retentionMs, now } = settings;
  const admission = createAdmission(settings);
  const { runLimits, refuseToBegin } = admission;

  async function readTask({ principal, taskId, requestId }: TaskName): Promise<ExecutionTask> {
    const id =
      taskId ?? (requestId === undefined ? undefined : deriveTaskId({ principal, requestId }));
    const task = id === undefined ? undefined : await store.get({ id });
    if (task?.principal !== principal) throw new SekishoError("task_not_found");
    return task;
  }

  return {
    submit: createSubmit(settings, admission),
    async find(name) {
      return advanceIfDue(await readTask(name));
    },
    async answer({ answer: reply, asker, message, alongside, isNew, ...name }) {
      const answer = asker === undefined ? reply : { ...reply, asker: asker.person };
      const task = await advanceIfDue(await readTask(name));
      const isToBegin = isAsking(task) || isUnstarted(task);
      const release = runLimits.take(task);
      try {
        const refusal = isToBegin ? refuseToBegin(task, release) : undefined;
        if (refusal !== undefined) throw refusal;
        const submission = { answer, message, alongside, isNew };
        const change = createAnswerChange({ ...submission, nowMs: now(), retentionMs });
        const { task: currentTask = throwTaskGone(), isChanged } = await changeTask({
          task,
          change,
        });
        if (!isChanged) checkRepetition({ task: currentTask, answer, message, isNew });
        if (!isUnstarted(currentTask)) return currentTask;
        // A repeated answer also starts the task if the first one could not.
        const askerToken = selectAskerToken(currentTask, asker);
        const start = { task: currentTask, isSubmission: true, ...(askerToken && { askerToken }) };
        return (await runs.start(start)) ?? throwTaskGone();
      } finally {
        release?.();
      }
    },
    async cancel(name) {
      const task = await readTask(name);
      const { task: currentTask = throwTaskGone(), isChanged } = await changeTask({
        task,
        change: cancelChange({ expiresAtMs: now() + retentionMs }),
      });
      if (isChanged) runs.stop({ id: task.id, cause: "canceled" });
      if (currentTask.state === "canceled") return currentTask;
      const { id: taskId, correlationId, state: from } = currentTask;
      throw transitionError({ taskId, correlationId, from, to: "canceled" });
    },
    async update({ change, ...name }) {
      return (await changeTask({ task: await readTask(name), change })).task ?? throwTaskGone();
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
    ...createWaits(settings),
  };
}

/** Decides whether a task may begin in this process. */
function createAdmission(settings: TaskSettings) {
  const { lifetime = endlessLifetime, callerLimits, random = Math.random } = settings;
  return {
    lifetime,
    runLimits: callerLimits?.runs ?? unlimitedSlots,
    /** Why the task may not begin here now; undefined if it may. `slot` is undefined if the caller has too many runs. */
    refuseToBegin(task: ExecutionTask, slot: (() => void) | undefined): SekishoError | undefined {
      if (!lifetime.canFinish(task)) return createSessionEndingError();
      return slot === undefined ? createTooManyCallsError({ random }) : undefined;
    },
  };
}

function createSubmit(
  settings: TaskSettings,
  { lifetime, runLimits, refuseToBegin }: ReturnType<typeof createAdmission>,
): Tasks["submit"] {
  const { store, runs, advanceIfDue, maxTaskMs, retentionMs, newId } = settings;

  /** `refusal` says why a new task may not begin here; an earlier request's task is still found. */
  async function createOrFind(
    newTask: ExecutionTask,
    refusal: SekishoError | undefined,
  ): Promise<ExecutionTask> {
    const createdTask = refusal === undefined ? await store.create({ item: newTask }) : undefined;
    const task = createdTask ?? (await store.get({ id: newTask.id }));
    if (task !== undefined) return task;
    // Without a refusal, the record expired between the two calls: the next attempt creates it.
    throw refusal ?? new SekishoError("unavailable");
  }

  async function createAndStart(
    newTask: ExecutionTask,
    { submission, refusal }: { submission: Submission; refusal: SekishoError | undefined },
  ): Promise<ExecutionTask> {
    const task = await createOrFind(newTask, refusal);
    if (task.fingerprint !== newTask.fingerprint || isOtherPerson(task, newTask))
      throw new SekishoError("already_exists", { details: { task_id: task.id } });
    if (!isUnstarted(task)) return advanceIfDue(task);
    if (!lifetime.canFinish(task)) throw createSessionEndingError();
    const { botToken, asker } = submission;
    const askerToken = selectAskerToken(task, asker);
    return (
      (await runs.start({
        task,
        isSubmission: true,
        botToken,
        ...(askerToken && { askerToken }),
      })) ?? throwTaskGone()
    );
  }

  return async (submission) => {
    const newTask = createExecutionTask({
      submission,
      maxTaskMs,
      leftMs: lifetime.leftMs(),
      retentionMs,
      newId,
    });
    // The run then holds the same slot.
    const release = runLimits.take(newTask);
    const refusal = submission.refusal ?? refuseToBegin(newTask, release);
    try {
      return await createAndStart(newTask, { submission, refusal });
    } catch (error) {
      if (!(error instanceof SekishoError) || error.reason !== "unavailable") throw error;
      // The task may be stored, and a later read may start it. The task id tells the caller not to use another destination.
      throw new SekishoError("unavailable", { details: { task_id: newTask.id }, cause: error });
    } finally {
      release?.();
    }
  };
}

/** One person's request must not find the task of another. */
function isOtherPerson(task: ExecutionTask, newTask: ExecutionTask): boolean {
  if (task.asker === undefined || newTask.asker === undefined) return false;
  return !isSamePerson(task.asker, newTask.asker);
}

function createWaits(settings: TaskSettings): Pick<Tasks, "watch" | "wait"> {
  const { store, runs, changeSignal, advanceIfDue, isStopped, mayWait = () => true } = settings;
  const callLimits = settings.callerLimits?.calls ?? unlimitedSlots;
  /** Numbers the waits, each of which is an open call. */
  let waits = 0;

  function toWatchRequest(task: ExecutionTask) {
    const isRunningHere = () => runs.has(task.id);
    const rereadTask = async () =>
      advanceIfDue((await store.get({ id: task.id })) ?? throwTaskGone());
    return { task, changeSignal, isRunningHere, isStopped, rereadTask };
  }

  return {
    watch: ({ task, ...options }) => watchTask({ ...toWatchRequest(task), ...options }),
    async wait({ task: calledTask, until, timeoutMs }) {
      if (timeoutMs <= 0 || !mayWait(calledTask.principal)) return calledTask;
      const isDone = (task: ExecutionTask) => isOver(task) || until(task);
      // The run may have changed the record while nobody listened, and another process may have changed it since the run did.
      const runTask = runs.latest(calledTask.id);
      const isRunNewer = runTask !== undefined && runTask.revision > calledTask.revision;
      const task = isRunNewer ? runTask : calledTask;
      if (isDone(task)) return task;
      const release = callLimits.take({ principal: task.principal, id: `wait ${waits++}` });
      if (release === undefined) return task;
      try {
        return await waitForChange({ ...toWatchRequest(task), until: isDone, timeoutMs });
      } finally {
        release();
      }
    },
  };
}
