/** Tells the way of each task as it happens: what the worker decided, and what went over the wire. */

import type { TapEntry } from "../../lambdas/verification/transport/tap.ts";
import type { Observation } from "../../lambdas/verification/worker/run-step.ts";
import { describeEvent, formatStepTitle } from "../cli/trace/event-text.ts";

/** One step of a task's way. `detail` is shown as it is: its secrets are redacted already. */
export type WatchedStep = {
  requestId: string;
  atMs: number;
  kind: "claim" | "decision" | "request" | "response";
  title: string;
  detail: unknown;
  /** The task's outcome is known by now, and is no answer. */
  failed?: boolean;
};

export type TaskWatch = {
  observe(observation: Observation): void;
  tap(entry: TapEntry): void;
};

/** Accepted tasks that are remembered; the page shows fewer. */
const maxTasks = 1000;
const maxProgressLength = 80;

/** Calls of other methods than `execute_task` have ids of their own: they are known by the task id that was accepted. */
export function createTaskWatch({
  add,
  now = Date.now,
}: {
  add: (step: WatchedStep) => void;
  now?: () => number;
}): TaskWatch {
  const requestIdOfTask = new Map<string, string>();
  const requestIdOfCall = new Map<string, string>();

  function remember(taskId: string, requestId: string): void {
    const [oldest] = requestIdOfTask.keys();
    if (oldest !== undefined && requestIdOfTask.size >= maxTasks) requestIdOfTask.delete(oldest);
    requestIdOfTask.set(taskId, requestId);
  }

  function requestIdFor({ id, method, body, direction }: TapEntry): string | undefined {
    if (method === "execute_task") return id;
    if (direction === "response") return requestIdOfCall.get(id);
    const params = Object(Object(body).params) as { task_id?: string; request_id?: string };
    const requestId = params.request_id ?? requestIdOfTask.get(params.task_id ?? "");
    if (requestId !== undefined) requestIdOfCall.set(id, requestId);
    return requestId;
  }

  return {
    observe({ requestId, event, task, effects }) {
      // A task from before a restart was accepted unseen.
      if (task.call?.taskId !== undefined) remember(task.call?.taskId, requestId);
      const title = formatStepTitle({ words: describeEvent(event), state: task.state });
      const asked = effects.map((effect) =>
        effect.type === "wake" ? `wake in ${effect.delayMs + (effect.jitterMs ?? 0)} ms at most` : effect.type,
      );
      const kind = event.type === "woken" ? "claim" : "decision";
      const failed = task.outcome !== undefined && task.outcome.type !== "answer";
      add({ requestId, atMs: now(), kind, title, detail: { event, next: asked }, ...(failed && { failed }) });
    },
    tap(entry) {
      const requestId = requestIdFor(entry);
      if (requestId === undefined) return;
      if (entry.direction === "response") {
        requestIdOfCall.delete(entry.id);
        const taskId = Object(Object(entry.body).result).task_id;
        if (typeof taskId === "string") remember(taskId, requestId);
      }
      add({ requestId, atMs: entry.atMs, kind: entry.direction, title: titleOf(entry), detail: entry.body });
    },
  };
}

/** With the progress, where a response tells of some. */
function titleOf({ method, direction, body }: TapEntry): string {
  const { progress } = Object(Object(body).result) as { progress?: unknown };
  const { text } = Object(progress) as { text?: unknown };
  const isShown = direction === "response" && typeof text === "string" && text !== "";
  return isShown ? `${method}: ${text.slice(0, maxProgressLength)}` : method;
}
