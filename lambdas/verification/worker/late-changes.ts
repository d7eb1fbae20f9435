/** Says in the thread that an edit or a deletion came too late, because the message was sent already. */
import type { TaskStore } from "../../shared/engine/ports.ts";
import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import { latePart } from "../slack/messages/blocks.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { isNewVersion } from "../task/edited.ts";
import type { MessageChange } from "../task/messages.ts";
import { retryAdviceOf } from "../task/retry.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";

/** Resolves to false if another worker has changed the record, so that the change must come again. Rejects if the store is unavailable. */
export type NoticeLateChange = (request: {
  task: Task;
  change: MessageChange;
  signal: AbortSignal;
}) => Promise<boolean>;

/**
 * The record notes first that it is said, so that it is said at most once: if Slack is away then, it is never said. Only called while no
 * worker holds the task's lease.
 */
export function createNoticeLateChange(options: {
  store: Pick<TaskStore<Task>, "replace">;
  slack: Pick<SlackApi, "post">;
  text: TaskText;
}): NoticeLateChange {
  const { store, slack, text } = options;
  return async ({ task, change, signal }) => {
    const lateChange = change.isDeleted ? "deleted" : "edited";
    if (!isWorthSaying(task, change)) return true;
    const noted = await store.replace({ item: { ...task, lateChange } });
    if (noted === undefined) return false;
    const key = { requestId: task.id, part: change.isDeleted ? latePart + 1 : latePart };
    const target = { installation: installationOf(task), ...threadRefOf(task) };
    try {
      await slack.post({ ...target, content: text.lateChange({ task, lateChange }), key, signal });
    } catch (thrown) {
      if (!(thrown instanceof SlackError)) throw thrown;
    }
    return true;
  };
}

/** An edit until the thread was checked for the last time, a deletion while the agent may still be at work. */
function isWorthSaying(task: Task, { message, isDeleted }: MessageChange): boolean {
  const { wait, lateChange, cleanupDone, outcome, cancelReason } = task;
  // A person who edits a failed message is about to try it again, and the retry takes the new text.
  if (!isDeleted && retryAdviceOf(task) !== undefined) return false;
  // Another bot gets no words that it might answer.
  if (task.message.botIds !== undefined) return false;
  // The task was never sent, because the message was refused, or was a reply.
  if (wait === undefined) return false;
  if (isDeleted) return lateChange !== "deleted" && outcome === undefined && cancelReason === undefined;
  return lateChange === undefined && !cleanupDone && isNewVersion(task, message);
}
