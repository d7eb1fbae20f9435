/** Tells the Verification zone that an accepted task is over or asks, once and as well as it can: polling suffices without. */
import type { Completion } from "../../../contracts/completion.ts";
import { uuidPattern } from "../../../contracts/envelope.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { causeKind } from "./cause-kind.ts";
import type { ChangeTask } from "./change-task.ts";
import { isAsking, isOver } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { loggedIds } from "./logged-ids.ts";
import { createTimeLimit } from "./time-limit.ts";

export type CompletionPush = {
  /** The same changes; the one that ends a task or its turn is followed by its push, for which nobody waits. */
  after(changeTask: ChangeTask): ChangeTask;
  /** Resolves when no push is under way. Never rejects, and takes no longer than one push may. */
  settled(): Promise<void>;
};

const pushTimeoutMs = 2000;

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

  async function push({ to, task }: { to: TaskQueue; task: ExecutionTask }): Promise<void> {
    const completion: Completion = { request_id: requestIdOf(task), task_id: task.id };
    try {
      await withinTime(to.send({ body: JSON.stringify(completion) }));
      log.debug("completion_pushed", loggedIds(task));
    } catch (error) {
      log.warn("completion_not_pushed", { ...loggedIds(task), cause_kind: causeKind(error) });
    }
  }

  function isWished(task: ExecutionTask): boolean {
    return task.callback === true && uuidPattern.test(requestIdOf(task)) && isAnswered(task);
  }

  /** After the user's answer nobody waits: `answer_task` returns at once. */
  function isAnswered(task: ExecutionTask): boolean {
    return task.answers !== undefined || now() - task.createdAtMs >= syncBudgetMs;
  }

  return {
    after: (changeTask) => async (request) => {
      const result = await changeTask(request);
      const { task, changed } = result;
      if (queue !== undefined && changed && task !== undefined && isTurnOver(task) && isWished(task)) {
        const pushing = push({ to: queue, task }).finally(() => underWay.delete(pushing));
        underWay.add(pushing);
      }
      return result;
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
}

function isTurnOver(task: ExecutionTask): boolean {
  return isOver(task) || isAsking(task);
}

function requestIdOf({ requestId }: ExecutionTask): string {
  return String(requestId).toLowerCase();
}
