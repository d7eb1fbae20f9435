/** Tells the Verification zone when an accepted task has changed, so that it polls at once. Best effort: its regular polls find lost pushes. */

import { isDeepStrictEqual } from "node:util";
import type { Completion } from "@sekisho/contracts/completion.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { isTurnOver } from "./changes.ts";
import { createLogIds, type ExecutionTask, isPushed } from "./execution-task.ts";
import type { ChangeTask } from "./task-store.ts";

export type CompletionPush = {
  /**
   * Wraps `changeTask`. A change that ends a task or its turn is pushed at once, and so is the beginning of its answer; other progress at most
   * once in ten seconds. No change waits for its push.
   */
  wrapChangeTask(changeTask: ChangeTask): ChangeTask;
  /** Resolves when no push is under way, at the latest after the time limit of one push. Never rejects. */
  waitForPushes(): Promise<void>;
};

const pushTimeoutMs = 2000;
/** The shortest gap between two pushes of one task's progress. Progress within the gap is pushed at its end. */
const progressGapMs = 10_000;

/**
 * Pushes a task only if its request set `callback`, has a UUID as its id, and was already answered. Until it is answered (within
 * `syncBudgetMs`), the response itself carries the outcome. All pushes go to `queue`; a request cannot choose another target.
 */
export function createCompletionPush(options: {
  queue: TaskQueue | undefined;
  syncBudgetMs: number;
  writingBudgetMs: number;
  now: () => number;
  log: Log;
}): CompletionPush {
  const { queue, syncBudgetMs, writingBudgetMs, now, log } = options;
  const withinTime = createTimeLimit({ ms: pushTimeoutMs, reason: "timeout" });
  const underWay = new Set<Promise<void>>();
  /** For each task id: the timer that runs after a push of progress, and the latest record that arrived in the meantime (`waitingTask`). */
  const gaps = new Map<string, { timer: NodeJS.Timeout; waitingTask?: ExecutionTask }>();

  async function push({ to, task }: { to: TaskQueue; task: ExecutionTask }): Promise<void> {
    const completion: Completion = {
      request_id: String(task.requestId).toLowerCase(),
      task_id: task.id,
    };
    try {
      await withinTime(to.send({ body: JSON.stringify(completion) }));
      log.debug("completion_pushed", createLogIds(task));
    } catch (error) {
      log.warn("completion_not_pushed", { ...createLogIds(task), cause_kind: errorKind(error) });
    }
  }

  function pushNow(request: { to: TaskQueue; task: ExecutionTask }): void {
    const pushPromise = push(request).finally(() => underWay.delete(pushPromise));
    underWay.add(pushPromise);
  }

  function pushProgress({ to, task }: { to: TaskQueue; task: ExecutionTask }): void {
    const gap = gaps.get(task.id);
    if (gap !== undefined) {
      gap.waitingTask = task;
      return;
    }
    pushNow({ to, task });
    const timer = setTimeout(() => {
      const waitingTask = gaps.get(task.id)?.waitingTask;
      gaps.delete(task.id);
      if (waitingTask !== undefined) pushProgress({ to, task: waitingTask });
    }, progressGapMs);
    // A waiting push keeps no process alive.
    gaps.set(task.id, { timer: timer.unref() });
  }

  /** Drops waiting progress of a task, and its gap: what happened next is pushed at once. */
  function dropProgress(taskId: string): void {
    clearTimeout(gaps.get(taskId)?.timer);
    gaps.delete(taskId);
  }

  function isPushWanted({
    previousTask,
    task,
  }: {
    previousTask: ExecutionTask;
    task: ExecutionTask;
  }): boolean {
    return isPushed(task) && isAnswered({ previousTask, task });
  }

  /**
   * True if the caller got its response: after `syncBudgetMs`, perhaps since the agent writes its answer, or at once for a task with
   * replies, because `answer_task` does not wait.
   */
  function isAnswered({
    previousTask,
    task,
  }: {
    previousTask: ExecutionTask;
    task: ExecutionTask;
  }): boolean {
    const isToldEarly =
      previousTask.progress?.partial_text !== undefined && writingBudgetMs < syncBudgetMs;
    return isToldEarly || task.answers !== undefined || now() - task.createdAtMs >= syncBudgetMs;
  }

  return {
    wrapChangeTask(changeTask) {
      if (queue === undefined) return changeTask;
      return async (request) => {
        const result = await changeTask(request);
        const { task, isChanged } = result;
        const hasEnded = task === undefined || isTurnOver(task);
        if (hasEnded) dropProgress(request.task.id);
        if (task === undefined || !isChanged || !isPushWanted({ previousTask: request.task, task }))
          return result;
        const change = { previousTask: request.task, task };
        if (beginsAnswer(change)) dropProgress(task.id);
        if (hasEnded) pushNow({ to: queue, task });
        else if (hasNewProgress(change)) pushProgress({ to: queue, task });
        return result;
      };
    },
    async waitForPushes() {
      await Promise.all(underWay);
    },
  };
}

/** True if the agent has begun to write its answer. The polls that follow the push find the rest. */
function beginsAnswer({
  previousTask,
  task,
}: {
  previousTask: ExecutionTask;
  task: ExecutionTask;
}): boolean {
  return (
    task.progress?.partial_text !== undefined && previousTask.progress?.partial_text === undefined
  );
}

function hasNewProgress({
  previousTask,
  task,
}: {
  previousTask: ExecutionTask;
  task: ExecutionTask;
}): boolean {
  return task.progress !== undefined && !isDeepStrictEqual(task.progress, previousTask.progress);
}
