/** What the methods do with tasks: submit, find, answer, cancel, list, and wait for changes. All of it is scoped to the principal. */
import { SekishoError } from "../../../contracts/errors.ts";
import { transitionRefused } from "../../../contracts/task.ts";
import { answerOnce, checkRepetition, type Said } from "./answering.ts";
import type { Bell } from "./bell.ts";
import type { ChangeTask } from "./change-task.ts";
import { type Change, cancel, isOver, isUnstarted } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import type { ExecutionStore } from "./guarded-store.ts";
import type { Runs } from "./runs.ts";
import { newTask, type Submission } from "./submission.ts";
import { taskIdOf } from "./task-id.ts";
import { gone, type TendTask } from "./tend-task.ts";
import { waitForChange } from "./wait-for-change.ts";
import { watchTask } from "./watch-task.ts";

type TaskName = { principal: string; taskId?: string | undefined; requestId?: string | undefined };

export type Tasks = {
  /** Creates the task, or finds the one of the same request id; starts it where nobody has. */
  submit(submission: Submission): Promise<ExecutionTask>;
  /** The task as it stands, after it was started or given up where that was due. Rejects with `task_not_found`. */
  find(name: TaskName): Promise<ExecutionTask>;
  /**
   * Answers the question that the task waits with, and lets it go on. The same answer again changes nothing. Rejects with
   * `invalid_state` where nothing was asked, with `already_exists` where the id came before with another answer, with
   * `invalid_params` for what answers nothing, and with `payload_too_large`.
   */
  answer(request: TaskName & Said): Promise<ExecutionTask>;
  cancel(name: TaskName): Promise<ExecutionTask>;
  /** Changes what may change in any state, such as where news of it goes. Rejects with `task_not_found`. */
  update(request: TaskName & { change: Change }): Promise<ExecutionTask>;
  /** Does what is due to a task that was found in another way. */
  tend: TendTask;
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
  tend: TendTask;
  maxTaskMs: number;
  retentionMs: number;
  now: () => number;
  newId: () => string;
  /** Whether the host has stopped: then nobody waits any longer. */
  isStopped: () => boolean;
};

export function createTasks(settings: TaskSettings): Tasks {
  const { store, runs, bell, changeTask, tend, maxTaskMs, retentionMs, now, newId, isStopped } = settings;

  async function read({ principal, taskId, requestId }: TaskName): Promise<ExecutionTask> {
    const id = taskId ?? (requestId === undefined ? undefined : taskIdOf({ principal, requestId }));
    const task = id === undefined ? undefined : await store.get({ id });
    if (task?.principal !== principal) throw new SekishoError("task_not_found");
    return task;
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
    return isUnstarted(task) ? start({ task, isSubmission: true, botToken: submission.botToken }) : tend(task);
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
    async answer({ answer, message, alongside, ...name }) {
      const task = await tend(await read(name));
      const change = answerOnce({ answer, message, alongside, nowMs: now(), retentionMs });
      const { task: current = gone(), changed } = await changeTask({ task, change });
      if (!changed) checkRepetition({ task: current, answer, message });
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
      const { id: taskId, correlationId, state: from } = current;
      throw transitionRefused({ taskId, correlationId, from, to: "canceled" });
    },
    async update({ change, ...name }) {
      return (await changeTask({ task: await read(name), change })).task ?? gone();
    },
    tend,
    async list({ principal, cursor, limit }) {
      return store.list({ index: "principal", key: principal, limit, ...(cursor !== undefined && { cursor }) });
    },
    watch: ({ task, ...rest }) => watchTask({ ...followed(task), ...rest }),
    wait({ task, until, timeoutMs }) {
      return waitForChange({ ...followed(task), until: (seen) => isOver(seen) || until(seen), timeoutMs });
    },
  };
}
