/** Tells the way of each task as it happens: what the worker decided, and what went over the wire. */

import type { TaskEvent } from "../../lambdas/verification/task/events.ts";
import type { TapEntry } from "../../lambdas/verification/transport/tap.ts";
import type { Observation } from "../../lambdas/verification/worker/worker.ts";

/** One step of a task's way. `detail` is shown as it is: its secrets are redacted already. */
export type TaskStep = {
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
export function watchTasks({ add, now = Date.now }: { add: (step: TaskStep) => void; now?: () => number }): TaskWatch {
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
      if (task.taskId !== undefined) remember(task.taskId, requestId);
      const title = `${wordsFor(event)} → ${task.state}`;
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

/** The page reads the task's state behind the arrow of a title. */
function wordsFor(event: TaskEvent): string {
  switch (event.type) {
    case "woken":
      return event.resumed ? "worker takes over from one that died" : "worker claims the task";
    case "permitted":
      return event.allowed ? "the person may ask" : "the person may not ask";
    case "answer_given":
      return answerWords[event.verdict];
    case "charged":
      return event.over === undefined ? "counted" : `over the limit of that ${event.over.by}`;
    case "thread_opened":
      return "a thread for it is open";
    case "prepared": {
      const { history = [], attachments = [] } = event.context;
      return `goes with ${history.length} earlier messages and ${attachments.length} files`;
    }
    case "file_refused":
      return "a file cannot be taken along";
    case "progress_shown":
      return "progress is in the thread";
    case "thread_held":
      return "the thread waits for an answer";
    case "question_asked":
      return "question is in the thread";
    case "question_shown":
      return "question shows its answer";
    case "uploaded":
      return event.fileId === undefined ? "a file cannot be uploaded" : "a file is uploaded";
    case "lined_up":
      return event.ahead === 0 ? "it is its turn in the thread" : `waits for ${event.ahead} of its thread`;
    case "thread_full":
      return "too many wait in the thread";
    case "left_thread":
      return "left the thread to the next";
    case "thread_canceled":
      return `asked ${event.count} of the thread to end`;
    case "message_read":
      return "message read again";
    case "busy":
      return "destination has all its calls under way";
    case "cancel_asked":
      return "somebody wants it to end";
    case "announced":
      return "placeholder is in the thread";
    case "answered":
      return `Execution zone answered "${event.result.status}"`;
    case "call_failed":
      return `call failed (${event.error.reason})`;
    case "slack_failed":
      return `Slack call failed (${event.kind})`;
    case "canceled":
      return "canceled at the Execution zone";
    case "share_refused":
      return "files may not be shown in the thread";
    case "delivered":
      return "answer is in the thread";
    case "swept":
      return "thread looked at once more";
    case "dead_lettered":
      return "queue gave up on the wake-up";
    case "redriven":
      return "operator wants the task to go on";
  }
}

const answerWords: Record<Extract<TaskEvent, { type: "answer_given" }>["verdict"], string> = {
  taken: "it is the answer that the thread waits for",
  none: "the thread waits for no answer",
  not_yours: "the thread waits for somebody else's answer",
  says_nothing: "the thread waits for an answer, and this says nothing",
};
