/** Tells the Verification zone that there is news of an accepted task, as well as it can: polling suffices without. */

import { isDeepStrictEqual } from "node:util";
import type { Completion } from "../../../contracts/completion.ts";
import { uuidPattern } from "../../../contracts/envelope.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import { createTimeLimit } from "../runs/time-limit.ts";
import { isTurnOver } from "./changes.ts";
import { createLogIds, type ExecutionTask } from "./execution-task.ts";
import type { ChangeTask } from "./task-store.ts";

export type CompletionPush = {
  /**
   * The same changes. The one that ends a task or its turn is followed by its push at once, those that bring progress by one
   * push in ten seconds. Nobody waits for a push.
   */
  after(changeTask: ChangeTask): ChangeTask;
  /** Resolves when no push is under way. Never rejects, and takes no longer than one push may. */
  settled(): Promise<void>;
};

const pushTimeoutMs = 2000;
/** Progress of one task is pushed at most that often: what comes in between is pushed when the time is over. */
const progressGapMs = 10_000;

/**
 * Pushed are tasks whose request wished it (`callback`), has a UUID for its id, and has been answered by then: within
 * `syncBudgetMs` of its receipt the request itself brings the outcome. Where to is `queue`, which no request can choose.
 */
export function createCompletionPush({
  queue,
  syncBudgetMs,
  now,
  log,
}: {
  queue: TaskQueue | undefined;
  syncBudgetMs: number;
  now: () => number;
  log: Log;
}): CompletionPush {
  const withinTime = createTimeLimit({ ms: pushTimeoutMs, reason: "timeout" });
  const underWay = new Set<Promise<void>>();
  /** By the ids of tasks whose progress was pushed a moment ago; `waiting` is what came since. */
  const gaps = new Map<string, { timer: NodeJS.Timeout; waiting?: ExecutionTask }>();

  async function push({ to, task }: { to: TaskQueue; task: ExecutionTask }): Promise<void> {
    const completion: Completion = { request_id: readRequestId(task), task_id: task.id };
    try {
      await withinTime(to.send({ body: JSON.stringify(completion) }));
      log.debug("completion_pushed", createLogIds(task));
    } catch (error) {
      log.warn("completion_not_pushed", { ...createLogIds(task), cause_kind: errorKind(error) });
    }
  }

  function pushNow(request: { to: TaskQueue; task: ExecutionTask }): void {
    const pushing = push(request).finally(() => underWay.delete(pushing));
    underWay.add(pushing);
  }

  function pushProgress({ to, task }: { to: TaskQueue; task: ExecutionTask }): void {
    const gap = gaps.get(task.id);
    if (gap !== undefined) {
      gap.waiting = task;
      return;
    }
    pushNow({ to, task });
    const timer = setTimeout(() => {
      const waiting = gaps.get(task.id)?.waiting;
      gaps.delete(task.id);
      if (waiting !== undefined) pushProgress({ to, task: waiting });
    }, progressGapMs);
    // A waiting push keeps no process alive.
    gaps.set(task.id, { timer: timer.unref() });
  }

  /** Its end is pushed, or nobody is to hear of it. */
  function dropProgress(taskId: string): void {
    clearTimeout(gaps.get(taskId)?.timer);
    gaps.delete(taskId);
  }

  function isWished(task: ExecutionTask): boolean {
    return task.callback === true && uuidPattern.test(readRequestId(task)) && isAnswered(task);
  }

  /** After the user's answer nobody waits: `answer_task` returns at once. */
  function isAnswered(task: ExecutionTask): boolean {
    return task.answers !== undefined || now() - task.createdAtMs >= syncBudgetMs;
  }

  return {
    after: (changeTask) => async (request) => {
      const result = await changeTask(request);
      const { task, changed } = result;
      const hasEnded = task === undefined || isTurnOver(task);
      if (hasEnded) dropProgress(request.task.id);
      if (queue === undefined || task === undefined || !changed || !isWished(task)) return result;
      if (hasEnded) pushNow({ to: queue, task });
      else if (hasNewProgress({ before: request.task, task })) pushProgress({ to: queue, task });
      return result;
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
}

function hasNewProgress({ before, task }: { before: ExecutionTask; task: ExecutionTask }): boolean {
  return task.progress !== undefined && !isDeepStrictEqual(task.progress, before.progress);
}

function readRequestId({ requestId }: ExecutionTask): string {
  return String(requestId).toLowerCase();
}
