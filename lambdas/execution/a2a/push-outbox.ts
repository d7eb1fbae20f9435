/**
 * Queues a notice for each push configuration of a task whose state changes, and looks after such a task: it is started, given up and
 * expired although nobody reads it.
 */
import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { AdvanceIfDue } from "../runs/runs.ts";
import { createTimeLimit } from "../runs/time-limit.ts";
import { isAsking, isOver, isUnstarted, questionEndsAtMs } from "../tasks/changes.ts";
import { createLogIds, type ExecutionTask, type StoredPushConfig } from "../tasks/execution-task.ts";
import { deriveCallerGroup, encodeExecutionMessage, type TaskLook } from "../tasks/task-message.ts";
import type { ChangeTask, ExecutionStore } from "../tasks/task-store.ts";

export type PushOutbox = {
  /** The same changes; one that enters a state resolves when its notices are queued. That it failed is logged, and no more. */
  after(changeTask: ChangeTask): ChangeTask;
  /** Queues a notice of the task as it stands for one configuration. Rejects with `unavailable`. */
  notify(request: { task: ExecutionTask; configId: string }): Promise<void>;
  /** Queues the next look at a task that is not over. Rejects with `unavailable`. */
  watch(request: { task: ExecutionTask; config: Pick<StoredPushConfig, "id" | "registrationId"> }): Promise<void>;
  /** The same store, in which no task is created before the first look at it is queued. That this failed is logged. */
  before(store: ExecutionStore): ExecutionStore;
};

/** A task that nobody has started for so long may have lost who was to start it. */
const defaultUnstartedAfterMs = 10_000;

/**
 * A process that dies between a change and its notice loses the notice: store and queue cannot be written together. Whoever
 * polls sees the change all the same.
 */
export function createPushOutbox({
  queue,
  lostAfterMs,
  unstartedAfterMs = defaultUnstartedAfterMs,
  timeoutMs = 2000,
  now,
  log,
}: {
  queue: TaskQueue;
  lostAfterMs: number;
  unstartedAfterMs?: number | undefined;
  /** Of one of two tries. */
  timeoutMs?: number;
  now: () => number;
  log: Log;
}): PushOutbox {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });

  async function notify({ task, configId }: { task: ExecutionTask; configId: string }): Promise<void> {
    const { id: taskId, state, changedAtMs } = task;
    const body = encodeExecutionMessage({ push: { taskId, configId, state, changedAtMs, attempt: 0 } });
    return sendOf({ task, message: { body } });
  }

  async function watch({ task, config }: Parameters<PushOutbox["watch"]>[0]): Promise<void> {
    const { id: taskId, state, changedAtMs } = task;
    const { id: configId, registrationId } = config;
    const body = encodeExecutionMessage({ look: { taskId, configId, registrationId, state, changedAtMs } });
    const delayMs = lookDelayMs({ task, nowMs: now(), lostAfterMs, unstartedAfterMs });
    return sendOf({ task, message: { body, delayMs } });
  }

  async function watchAll(task: ExecutionTask): Promise<void> {
    if (isOver(task)) return;
    await Promise.allSettled((task.a2a?.pushConfigs ?? []).map((config) => watch({ task, config })));
  }

  async function sendOf({
    task,
    message,
  }: {
    task: ExecutionTask;
    message: Parameters<TaskQueue["send"]>[0];
  }): Promise<void> {
    const send = async () => withinTime(queue.send({ ...message, group: deriveCallerGroup(task) }));
    try {
      await send().catch(send);
    } catch (cause) {
      const ids = { ...createLogIds(task), operation: "push" };
      log.error("push_not_queued", { ...ids, state: task.state, cause_kind: errorKind(cause) });
      throw new SekishoError("unavailable", { cause });
    }
  }

  return {
    after: (changeTask) => async (request) => {
      let entersState = false;
      const result = await changeTask({
        ...request,
        change(task) {
          const next = request.change(task);
          entersState = next !== undefined && next.state !== task.state;
          return next;
        },
      });
      const { task, changed } = result;
      const configs = (changed && entersState && task?.a2a?.pushConfigs) || [];
      if (task !== undefined && configs.length > 0) {
        await Promise.allSettled([...configs.map(({ id }) => notify({ task, configId: id })), watchAll(task)]);
      }
      return result;
    },
    before: (store) => ({
      ...store,
      async create(request) {
        await watchAll(request.item);
        return store.create(request);
      },
    }),
    notify,
    watch,
  };
}

/** The clocks of two processes may differ by more than what is left. */
const shortestMs = 250;

type Watched = Pick<ExecutionTask, "id" | "state" | "changedAtMs" | "deadlineAtMs" | "question" | "lease">;

/**
 * From now until a task that nobody has started may have lost who was to start it (`unstartedAfterMs`), until one that runs
 * would be lost if its lease were not renewed, or until a question's time is over.
 */
function lookDelayMs({
  task,
  nowMs,
  lostAfterMs,
  unstartedAfterMs,
}: {
  task: Watched;
  nowMs: number;
  lostAfterMs: number;
  unstartedAfterMs: number;
}): number {
  return Math.max(shortestMs, dueAtMs({ task, nowMs, lostAfterMs, unstartedAfterMs }) - nowMs);
}

function dueAtMs({ task, nowMs, lostAfterMs, unstartedAfterMs }: Parameters<typeof lookDelayMs>[0]): number {
  if (isAsking(task)) return questionEndsAtMs(task);
  return isUnstarted(task) || task.lease === undefined ? nowMs + unstartedAfterMs : task.lease.untilMs + lostAfterMs;
}

/** Resolves when the task was tended, and where it stays as it is, when the next look at it is queued. Rejects with `unavailable`. */
export type HandleLook = (look: TaskLook) => Promise<void>;

/** A look is at one state of a task on behalf of one registration; what ends either ends its looks. */
export function createHandleLook({
  store,
  advanceIfDue,
  outbox,
}: {
  store: Pick<ExecutionStore, "get">;
  advanceIfDue: AdvanceIfDue;
  outbox: Pick<PushOutbox, "watch">;
}): HandleLook {
  return async (look) => {
    const found = await store.get({ id: look.taskId });
    if (found === undefined || !isAt({ task: found, look })) return;
    // What fails now may be possible at the next look.
    const task = await advanceIfDue(found).catch(() => found);
    if (isAt({ task, look })) await outbox.watch({ task, config: { id: look.configId, ...look } });
  };
}

function isAt({ task, look }: { task: ExecutionTask; look: TaskLook }): boolean {
  const config = task.a2a?.pushConfigs?.find(({ id }) => id === look.configId);
  if (config === undefined || config.registrationId !== look.registrationId) return false;
  return task.state === look.state && task.changedAtMs === look.changedAtMs;
}
