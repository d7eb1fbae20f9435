/** Reports each task's timeline as it happens: what the worker decides, and what goes over the wire. */

import { isCanceled, type Task } from "@sekisho/verification/task/task.ts";
import type { TapEntry } from "@sekisho/verification/transport/tap.ts";
import type { Observation } from "@sekisho/verification/worker/step/step.ts";
import { describeEvent, formatStepTitle } from "./event-text.ts";

/** One step of a task's timeline. `detail` is shown as it is; its secrets are redacted already. */
export type WatchedStep = {
  requestId: string;
  atMs: number;
  kind: "claim" | "decision" | "request" | "response";
  title: string;
  detail: unknown;
  /** The request and the response of a call have the same one. */
  call?: string;
  /** With this step the task has failed. */
  failed?: boolean;
  /** The task neither failed nor has an answer: it was refused or canceled. */
  stopped?: boolean;
};

export type TaskWatch = {
  observe(observation: Observation): void;
  tap(entry: TapEntry): void;
};

/** The ids of older accepted tasks are dropped. The page shows fewer tasks than this. */
const maxTasks = 1000;
const maxProgressLength = 80;

type TaskWatchOptions = { add: (step: WatchedStep) => void; now?: () => number };

/** Only `execute_task` uses the request id as its JSON-RPC id. Other calls are matched by their task id. */
export function createTaskWatch({ add, now = Date.now }: TaskWatchOptions): TaskWatch {
  const requestIdOfTask = new Map<string, string>();
  const requestIdOfCall = new Map<string, string>();
  const failedTasks = new Map<string, true>();

  function remember<T>(map: Map<string, T>, id: string, value: T): void {
    const [oldest] = map.keys();
    if (oldest !== undefined && map.size >= maxTasks) map.delete(oldest);
    map.set(id, value);
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
      // A task from before a restart was accepted by another process.
      if (task.call?.taskId !== undefined) remember(requestIdOfTask, task.call.taskId, requestId);
      const title = formatStepTitle({ text: describeEvent(event), state: task.state });
      const effectTexts = effects.map((effect) =>
        effect.type === "wake"
          ? `wake in ${effect.delayMs + (effect.jitterMs ?? 0)} ms at most`
          : effect.type,
      );
      const kind = event.type === "woken" ? "claim" : "decision";
      // Later steps, such as posting why it failed, succeed.
      const hasFailed = isFailed(task) && !failedTasks.has(requestId);
      if (hasFailed) remember(failedTasks, requestId, true);
      add({
        requestId,
        atMs: now(),
        kind,
        title,
        detail: { event, next: effectTexts },
        ...(hasFailed && { failed: true }),
        ...(isStopped(task) && { stopped: true }),
      });
    },
    tap(entry) {
      const requestId = requestIdFor(entry);
      if (requestId === undefined) return;
      if (entry.direction === "response") {
        requestIdOfCall.delete(entry.id);
        const taskId = Object(Object(entry.body).result).task_id;
        if (typeof taskId === "string") remember(requestIdOfTask, taskId, requestId);
      }
      add({
        requestId,
        atMs: entry.atMs,
        kind: entry.direction,
        title: titleOf(entry),
        detail: entry.body,
        call: entry.id,
      });
    },
  };
}

function isFailed(task: Task): boolean {
  return task.outcome?.type === "failed" && !isCanceled(task);
}

function isStopped(task: Task): boolean {
  const { outcome } = task;
  const isAnswered =
    outcome === undefined || ["answer", "canceling", "help"].includes(outcome.type);
  return !isAnswered && !isFailed(task);
}

/** The method, and the progress that a response reports. */
function titleOf({ method, direction, body }: TapEntry): string {
  const { progress } = Object(Object(body).result) as { progress?: unknown };
  const { text } = Object(progress) as { text?: unknown };
  const isShown = direction === "response" && typeof text === "string" && text !== "";
  return isShown ? `${method}: ${text.slice(0, maxProgressLength)}` : method;
}
