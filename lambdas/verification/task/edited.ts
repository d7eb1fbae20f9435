/**
 * A message that is edited, deleted or completed with its files before its task is sent. The new text is what is sent, and what was
 * decided by the old one is decided anew. The record's compare-and-set says which was first, the change or the send. After the send, the
 * thread only says that the change came too late (`worker/late-changes.ts`).
 */
import { isCancelWord } from "./command-words.ts";
import type { EventOf } from "./events.ts";
import { withHistory } from "./history.ts";
import type { AskMessage, MessageChange, UserMessage } from "./messages.ts";
import { leadsElsewhere, type Policy, withoutParams } from "./routing.ts";
import { receivedTask, type Task, type TaskOutcome } from "./task.ts";
import { failedOutcome, markForReconcile, setOutcome, type Transition } from "./transition.ts";
import {
  findRefusal,
  ignore,
  onWokenAnnounced,
  onWokenReceived,
  requestThreadPosition,
} from "./unsent.ts";

/** True in the states in which a change of the message takes effect. */
export function isUnsent({ state }: Pick<Task, "state">): boolean {
  return state === "received" || state === "queued" || state === "announced";
}

/**
 * Slack may tell of one post as `app_mention` without its files and as `message` with them, in either order. Returns the later event as a
 * change of the message if it has files that the record lacks. An edit has told the files of the edited message, so it counts instead.
 */
export function findLateFiles(task: Task, ask: AskMessage): MessageChange | undefined {
  const { retryOf, ...userMessage } = ask;
  if (retryOf !== undefined || !hasLateFiles(task.message, ask.message)) return undefined;
  return { ...userMessage, type: "message_change" };
}

function hasLateFiles(knownMessage: UserMessage, { files = [], editedTs }: UserMessage): boolean {
  const knownFiles = knownMessage.files ?? [];
  if (knownMessage.hadFiles || knownMessage.editedTs !== undefined || editedTs !== undefined)
    return false;
  return (
    files.length > knownFiles.length &&
    knownFiles.every(({ id }) => files.some((file) => file.id === id))
  );
}

/** True if the change is no edit of a person, but the files of the message. */
export function isLateFiles({ message: { editedTs }, isDeleted }: MessageChange): boolean {
  return editedTs === undefined && !isDeleted;
}

/** Adds the files, if the task is not sent. The params that were gathered without them are gathered again. */
export function withLateFiles(task: Task, files: UserMessage["files"]): Task {
  if (files === undefined || !isUnsent(task)) return task;
  return withoutParams({ ...task, message: { ...task.message, files } });
}

/** False for an edit that is not newer than the record, and for one that changes neither the text nor the files. */
export function isNewVersion(
  { message: knownMessage }: Pick<Task, "message">,
  message: UserMessage,
): boolean {
  if (message.editedTs === undefined) return hasLateFiles(knownMessage, message);
  if (Number(message.editedTs) <= Number(knownMessage.editedTs ?? 0)) return false;
  return (
    textOf(message, knownMessage) !== knownMessage.text ||
    fileIdsOf(message) !== fileIdsOf(knownMessage)
  );
}

/** True if the change of the message is to be handled by the task machine. */
export function takesEffect(task: Task, { message, isDeleted }: MessageChange): boolean {
  return isUnsent(task) && (isDeleted === true || isNewVersion(task, message));
}

/** Checks the permission again, as at every try. */
export function onEditedReceived(task: Task, event: EventOf<"message_edited">): Transition {
  const { workerDied, nowMs } = event;
  return onWokenReceived(withNewText(task, event), { type: "woken", workerDied, nowMs });
}

export function onEditedQueued(
  task: Task,
  event: EventOf<"message_edited">,
  policy: Policy,
): Transition {
  const editedTask = withNewText(task, event);
  const refusal = findEditRefusal(editedTask, policy);
  return refusal === undefined
    ? requestThreadPosition(editedTask)
    : setOutcome(editedTask, refusal);
}

/** The history and the files are gathered again. If the new text leads to another route, the task joins its thread again. */
export function onEditedAnnounced(
  task: Task,
  event: EventOf<"message_edited">,
  policy: Policy,
): Transition {
  const editedTask = withoutParams(withNewText(task, event));
  const refusal = findEditRefusal(editedTask, policy);
  if (refusal !== undefined) return setOutcome(editedTask, refusal);
  if (leadsElsewhere({ task, edited: editedTask, policy }))
    return requestThreadPosition({ ...editedTask, state: "queued" });
  return onWokenAnnounced(
    editedTask,
    { type: "woken", workerDied: event.workerDied, nowMs: event.nowMs },
    policy,
  );
}

/** The first and last record of a message that was deleted before it was handled. It keeps the message from being handled later. */
export function deletedTask(change: MessageChange): Task {
  const { listedAtMs: _listedAtMs, ...previousTask } = receivedTask(change);
  const event = { type: "message_deleted", nowMs: change.receivedAtMs, workerDied: false } as const;
  const { task } = onDeletedReceived(previousTask, event);
  return withHistory({ previousTask, task, event, atMs: event.nowMs });
}

/** The message is gone, so it gets no answer. If a worker died, the thread may have a placeholder, which is cleaned up. */
export function onDeletedReceived(
  task: Task,
  { workerDied }: EventOf<"message_deleted">,
): Transition {
  return ignore(workerDied ? markForReconcile(task) : task);
}

/** The placeholder says that the task was canceled. */
export function onDeletedQueued(task: Task): Transition {
  return setOutcome(task, canceledOutcome, { reconcile: true });
}

const canceledOutcome = failedOutcome({ reason: "canceled", lost: false });

/** Checks what was checked when the message was accepted. A message that became the word to cancel cancels itself. */
function findEditRefusal({ message }: Task, policy: Policy): TaskOutcome | undefined {
  return isCancelWord(message.text) ? canceledOutcome : findRefusal(message, policy);
}

/** A message that spoke to the bot once, before or after the edit, does so. Late files leave the text as it is. */
function withNewText(task: Task, { message }: EventOf<"message_edited">): Task {
  const {
    files: _files,
    sharedFiles: _sharedFiles,
    unaddressed: _unaddressed,
    perhapsAddressed: _perhaps,
    ...knownMessage
  } = task.message;
  const { files, editedTs } = message;
  const sharedFiles =
    message.sharedFiles ?? (editedTs === undefined ? task.message.sharedFiles : undefined);
  const isUnaddressed = task.message.unaddressed && message.unaddressed;
  return {
    ...task,
    message: {
      ...knownMessage,
      text: editedTs === undefined ? knownMessage.text : textOf(message, knownMessage),
      ...(editedTs === undefined ? {} : { editedTs }),
      ...(isUnaddressed ? { unaddressed: true } : {}),
      ...(files === undefined ? {} : { files }),
      ...(sharedFiles === undefined ? {} : { sharedFiles }),
    },
  };
}

/**
 * In a Slack Connect channel, only the record knows the bot's user of the other workspace. The mentions of the others are removed already,
 * except from quotations. A message of an earlier version has Slack's notation `<@U…>`.
 */
function textOf(message: UserMessage, knownMessage: Pick<UserMessage, "botUsers">): string {
  const otherUsers = (knownMessage.botUsers ?? []).filter(
    (user) => !message.botUsers?.includes(user),
  );
  return message.text
    .replace(
      /<@([A-Z0-9]+)(?:\|[^<>]*)?>[ \t]*|@([A-Z0-9]+)\b[ \t]*/g,
      (mention, user?: string, id?: string) =>
        otherUsers.includes(user ?? id ?? "") ? "" : mention,
    )
    .trim();
}

function fileIdsOf({ files = [] }: UserMessage): string {
  return files.map(({ id }) => id).join();
}
