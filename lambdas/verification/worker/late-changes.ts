/** Says in the thread that an edit, a deletion or files came too late, because the message was sent already. */
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import type { LateChange, TaskText } from "../slack/messages/task-text.ts";
import { isLateFiles, isNewVersion } from "../task/edited.ts";
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
    const lateChange = toLateChange(change);
    if (!isNoticeDue(task, change)) return true;
    const storedTask = await store.replace({ item: addNote(task, change) });
    if (storedTask === undefined) return false;
    const key = {
      requestId: task.id,
      kind: "late_change",
      index: lateIndexes[lateChange],
    } as const;
    const target = { installation: installationOf(task), ...threadRefOf(task) };
    try {
      await slack.post({ ...target, content: text.lateChange({ task, lateChange }), key, signal });
    } catch (error) {
      if (!(error instanceof SlackError)) throw error;
    }
    return true;
  };
}

function toLateChange(change: MessageChange): LateChange {
  if (change.isDeleted) return "deleted";
  return isLateFiles(change) ? "files" : "edited";
}

/** Files are noted in the history, which every version keeps, because their event may come again after the texts are erased. */
function addNote(task: Task, change: MessageChange): Task {
  const lateChange = toLateChange(change);
  if (lateChange !== "files") return { ...task, lateChange };
  const entry = { atMs: change.receivedAtMs, event: filesTooLate, state: task.state };
  return { ...task, history: [...task.history, entry] };
}

const filesTooLate = "files_too_late";

const lateIndexes: Record<LateChange, number> = { edited: 0, deleted: 1, files: 2 };

/**
 * An edit until the thread was checked for the last time, a deletion while the agent may still be at work, and files always: otherwise they
 * would be lost without a word.
 */
function isNoticeDue(task: Task, change: MessageChange): boolean {
  const { message, isDeleted } = change;
  const { wait, lateChange, history, cleanupDone, outcome, cancelReason } = task;
  // A person who edits a failed message is about to try it again, and the retry takes the new text.
  if (!isDeleted && retryAdviceOf(task) !== undefined) return false;
  // Another bot gets no words that it might answer.
  if (task.message.botIds !== undefined) return false;
  // The task was never sent, because the message was refused, or was a reply.
  if (wait === undefined) return false;
  if (isDeleted)
    return lateChange !== "deleted" && outcome === undefined && cancelReason === undefined;
  if (isLateFiles(change))
    return history.every(({ event }) => event !== filesTooLate) && isNewVersion(task, message);
  return lateChange === undefined && !cleanupDone && isNewVersion(task, message);
}
