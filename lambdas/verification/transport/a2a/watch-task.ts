/**
 * Watches a task by its stream of events (A2A 1.0, section 3.1.6), so that a poll can wait for news. The stream is a view of a task that goes on.
 * Everything else, such as the end of the task or of the stream, is for GetTask to tell.
 */
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import type { CallOperation } from "./call-operation.ts";
import type { PeerCall } from "./post-operation.ts";
import {
  createLastPolls,
  createTaskView,
  describeProgress,
  type Outcome,
  type WatchedTask,
} from "./task-view.ts";

export type TaskWatch = {
  /**
   * Resolves when the task has other progress than the last poll saw, or after `waitMs`. Resolves to undefined if the stream cannot tell.
   * Never rejects.
   */
  waitForNews(request: {
    taskId: string;
    waitMs: number;
    call: PeerCall;
  }): Promise<WatchedTask | undefined>;
  /** Remembers what a poll of the task saw. */
  note(request: { taskId: string; outcome: Outcome }): void;
};

export function createTaskWatch({ ask }: { ask: CallOperation }): TaskWatch {
  const lastPolls = createLastPolls();
  return {
    async waitForNews({ taskId, waitMs, call }) {
      const view = createTaskView({ taskId, wasSeen: lastPolls.createCheck(taskId) });
      const deadline = createDeadline({ timeoutMs: waitMs, signal: call.signal });
      try {
        const streamCall = { ...call, signal: deadline.signal };
        const params = { id: taskId };
        const takeEvent = view.take;
        await ask({ operation: "SubscribeToTask", params, call: streamCall, takeEvent });
        return view.hasNews() ? view.current() : undefined;
      } catch {
        const isWaitOver = deadline.signal.aborted && !call.signal.aborted;
        return isWaitOver ? view.current() : undefined;
      } finally {
        deadline.end();
      }
    },
    note: ({ taskId, outcome }) =>
      lastPolls.note({ taskId, description: describeProgress(outcome) }),
  };
}
