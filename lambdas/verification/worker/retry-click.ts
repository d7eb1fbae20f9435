/** Tries a failed task again when the person who asked clicks the button below the failure. */

import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Trace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { isAsker, type Person } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import { isOutcome } from "../slack/api/post-keys.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import { buttonRetryIdOf, createRetry, retryAdviceOf } from "../task/retry.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";
import { outcomeKey, readOwnPosts } from "./own-posts.ts";

/** `held`: the task is about to end, so try again soon. Rejects if the store, the queue or the gate is unavailable. */
export type RetryByClick = (request: {
  task: Task;
  person: Person;
  /** The time of the click. */
  atMs: number;
  signal: AbortSignal;
}) => Promise<ButtonClickRefusal | "held" | undefined>;

export function createRetryByClick(options: {
  store: Pick<TaskStore<Task>, "get">;
  queue: TaskQueue;
  gate: Pick<Gate, "mayAskThere" | "findOver">;
  slack: SlackApi;
  text: TaskText;
  newTrace: () => Trace;
}): RetryByClick {
  const { store, queue, gate, slack, text, newTrace } = options;

  /** Best effort: a second click is refused anyway. */
  async function removeButton(task: Task, signal: AbortSignal): Promise<void> {
    const posts = await readOwnPosts({ slack, task, signal });
    const post = posts.find((candidate) => isOutcome(candidate) && candidate.buttons);
    if (post?.buttons === undefined) return;
    const { ts, buttons } = post;
    const target = { installation: installationOf(task), channel: threadRefOf(task).channel, ts };
    const content = text.withoutRetry({ task, text: buttons.text });
    await slack.update({ ...target, content, key: outcomeKey(task, post), signal });
  }

  return async ({ task, person, atMs, signal }) => {
    if (!isAsker(task, person)) return { type: "not_yours" };
    if (retryAdviceOf(task) === undefined) return { type: "over" };
    if (task.state !== "done") return "held";
    if (!(await gate.mayAskThere({ task, person, signal }))) return { type: "not_allowed" };
    const requestId = buttonRetryIdOf(task);
    const earlierRetry = await store.get({ id: requestId });
    // The same click may come again.
    if (earlierRetry !== undefined && earlierRetry.receivedAtMs !== atMs)
      return { type: "retried" };
    if (earlierRetry === undefined) {
      // The button stays, so that it can be used when there is room.
      const overQuota = await gate.findOver({ task });
      if (overQuota !== undefined) return { type: "limited", ...overQuota, atMs };
      // The worker creates one task of it, even if two clicks arrive before that.
      const retry = createRetry({ task, requestId, receivedAtMs: atMs, trace: newTrace() });
      await queue.send({ body: encodeQueueMessage(retry), group: task.message.team });
    }
    await removeButton(task, signal).catch(() => {});
    return undefined;
  };
}
