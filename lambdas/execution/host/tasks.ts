/** What the methods do with tasks: submit, find, answer, cancel, list, and wait for changes. All of it is scoped to the principal. */
import type { Message } from "../../../contracts/a2a/part.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { transitionRefused } from "../../../contracts/task.ts";
import type { Log } from "../../shared/log.ts";
import type { Bell } from "./bell.ts";
import type { ChangeTask } from "./change-task.ts";
import { answer, type Change, cancel, expire, giveUp, isLost, isOver, isUnanswered, isUnstarted } from "./changes.ts";
import type { Answer, ExecutionTask } from "./execution-task.ts";
import type { ExecutionStore } from "./guarded-store.ts";
import { loggedIds } from "./logged-ids.ts";
import type { Runs } from "./runs.ts";
import { newTask, type Submission } from "./submission.ts";
import { taskIdOf } from "./task-id.ts";
import { waitForChange } from "./wait-for-change.ts";
import { watchTask } from "./watch-task.ts";

type TaskName = { principal: string; taskId?: string | undefined; requestId?: string | undefined };

/** `message` is the answer as A2A brought it. */
type AnswerRequest = TaskName & { answer: Omit<Answer, "prompt">; message?: Message };

export type Tasks = {
  /** Creates the task, or finds the one of the same request id; starts it where nobody has. */
  submit(submission: Submission): Promise<ExecutionTask>;
  /** The task as it stands, after it was started or given up where that was due. Rejects with `task_not_found`. */
  find(name: TaskName): Promise<ExecutionTask>;
  /**
   * Answers the question that the task waits with, and lets it go on. The same answer again changes nothing. Rejects with
   * `invalid_state` where nothing was asked, and with `already_exists` where the id came before with another answer.
   */
  answer(request: AnswerRequest): Promise<ExecutionTask>;
  cancel(name: TaskName): Promise<ExecutionTask>;
  /** Changes what may change in any state, such as where news of it goes. Rejects with `task_not_found`. */
  update(request: TaskName & { change: Change }): Promise<ExecutionTask>;
  /** The principal's listed tasks, the newest change of state first. Rejects with a RangeError for a foreign cursor. */
  list(request: {
    principal: string;
    cursor?: string | undefined;
    limit: number;
  }): Promise<{ items: ExecutionTask[]; cursor?: string }>;
  /** The task's records from this one on, to the end of its turn or as `until` says, until `signal` aborts, or the host stops. */
  watch(request: {
    task: ExecutionTask;
    until?: ((task: ExecutionTask) => boolean) | undefined;
    signal: AbortSignal;
  }): AsyncIterable<ExecutionTask>;
  /** Resolves to the record when `until` holds for it, or as it stands after `timeoutMs`. */
  wait(request: {
    task: ExecutionTask;
    until: (task: ExecutionTask) => boolean;
    timeoutMs: number;
  }): Promise<ExecutionTask>;
};

export type TaskSettings = {
  store: ExecutionStore;
  runs: Runs;
  bell: Bell;
  changeTask: ChangeTask;
  maxTaskMs: number;
  lostAfterMs: number;
  retentionMs: number;
  now: () => number;
  newId: () => string;
  log: Log;
  /** Whether the host has stopped: then nobody waits any longer. */
  isStopped: () => boolean;
};

export function createTasks(settings: TaskSettings): Tasks {
  const { store, runs, bell, changeTask, maxTaskMs, lostAfterMs, retentionMs, now, newId, log, isStopped } = settings;

  async function read({ principal, taskId, requestId }: TaskName): Promise<ExecutionTask> {
    const id = taskId ?? (requestId === undefined ? undefined : taskIdOf({ principal, requestId }));
    const task = id === undefined ? undefined : await store.get({ id });
    if (task?.principal !== principal) throw new SekishoError("task_not_found");
    return task;
  }

  /** Does what is due to a task that nobody works on: start it, or give it up. One that runs here is fine, however late. */
  async function tend(task: ExecutionTask, submission?: Submission): Promise<ExecutionTask> {
    const isSubmission = submission !== undefined;
    if (isUnstarted(task)) return start({ task, isSubmission, botToken: submission?.botToken });
    const doubt = { nowMs: now(), lostAfterMs };
    if (isUnanswered({ task, nowMs: doubt.nowMs })) {
      const change = expire({ nowMs: doubt.nowMs, expiresAtMs: doubt.nowMs + retentionMs });
      return (await changeTask({ task, change })).task ?? gone();
    }
    if (runs.has(task.id) || !isLost({ task, ...doubt })) return task;
    const given = await changeTask({ task, change: giveUp({ ...doubt, expiresAtMs: doubt.nowMs + retentionMs }) });
    if (given.changed) {
      log.error("task_lost", { ...loggedIds(task), operation: "execute_task", reason: "execution_failed" });
    }
    return given.task ?? gone();
  }

  async function start(request: Parameters<Runs["start"]>[0]): Promise<ExecutionTask> {
    return (await runs.start(request)) ?? gone();
  }

  async function createAndStart(wanted: ExecutionTask, submission: Submission): Promise<ExecutionTask> {
    const task = (await store.create({ item: wanted })) ?? (await store.get({ id: wanted.id }));
    // It expired between the two: the next attempt creates it.
    if (task === undefined) throw new SekishoError("unavailable");
    if (task.fingerprint !== wanted.fingerprint)
      throw new SekishoError("already_exists", { details: { task_id: task.id } });
    return tend(task, submission);
  }

  function followed(task: ExecutionTask) {
    const isRunningHere = () => runs.has(task.id);
    const reread = async () => tend((await store.get({ id: task.id })) ?? gone());
    return { task, bell, isRunningHere, isStopped, reread };
  }

  return {
    async submit(submission) {
      const wanted = newTask({ submission, maxTaskMs, retentionMs, newId });
      return createAndStart(wanted, submission).catch((thrown: unknown) => {
        const isUnavailable = thrown instanceof SekishoError && thrown.reason === "unavailable";
        // The task may be stored, and be started by whoever reads it: who asked is not to ask elsewhere.
        throw isUnavailable
          ? new SekishoError("unavailable", { details: { task_id: wanted.id }, cause: thrown })
          : thrown;
      });
    },
    async find(name) {
      return tend(await read(name));
    },
    async answer({ answer: said, message, ...name }) {
      const task = await tend(await read(name));
      const asked = { ...said, prompt: task.question?.prompt ?? "" };
      const { task: current = gone(), changed } = await changeTask({
        task,
        change: answerOnce({ answer: asked, message }),
      });
      if (!changed && !isRepeated({ task: current, answer: asked })) {
        throw transitionRefused({ taskId: task.id, from: current.state, to: "working" });
      }
      // A repetition of the answer starts it as well, where the first one could not.
      return isUnstarted(current) ? start({ task: current, isSubmission: true }) : current;
    },
    async cancel(name) {
      const task = await read(name);
      const { task: current = gone(), changed } = await changeTask({
        task,
        change: cancel({ expiresAtMs: now() + retentionMs }),
      });
      if (changed) runs.stop({ id: task.id, cause: "canceled" });
      if (current.state === "canceled") return current;
      throw transitionRefused({ taskId: task.id, from: current.state, to: "canceled" });
    },
    async update({ change, ...name }) {
      return (await changeTask({ task: await read(name), change })).task ?? gone();
    },
    async list({ principal, cursor, limit }) {
      return store.list({ index: "principal", key: principal, limit, ...(cursor !== undefined && { cursor }) });
    },
    watch: ({ task, ...rest }) => watchTask({ ...followed(task), ...rest }),
    wait({ task, until, timeoutMs }) {
      return waitForChange({ ...followed(task), until: (seen) => isOver(seen) || until(seen), timeoutMs });
    },
  };
}

/** Throws `already_exists` where the id was used for another answer. */
function isRepeated({ task, answer: { id, fingerprint } }: { task: ExecutionTask; answer: Answer }): boolean {
  const known = task.answers?.find((each) => each.id === id);
  if (known !== undefined && known.fingerprint !== fingerprint) {
    throw new SekishoError("already_exists", { details: { task_id: task.id } });
  }
  return known !== undefined || task.answers?.at(-1)?.fingerprint === fingerprint;
}

/** A late repetition of an answer is none to the next question. */
function answerOnce(request: { answer: Answer; message: Message | undefined }): Change {
  const change = answer(request);
  return (task) => (task.answers?.some(({ id }) => id === request.answer.id) ? undefined : change(task));
}

/** The record expired between two looks. */
function gone(): never {
  throw new SekishoError("task_not_found");
}
