/** Acts that read what the agent gets: the message, the conversation and the files. */
import type { SlackApi } from "../../slack/api/slack.ts";
import { createThreadHistory, listThreadFiles } from "../../slack/messages/thread-history.ts";
import type { Act, Context, MessageRead } from "../../task/events.ts";
import { installationOf, type Task } from "../../task/task.ts";
import { mayReadAnswer } from "../../task/thread-route.ts";
import { isToBeReadAgain } from "../../task/unsent.ts";
import { readConversation } from "../conversation.ts";
import { pureStep } from "../data-failures.ts";
import { importFurther } from "../further-files.ts";
import { readMessages } from "../own-posts.ts";
import type { ActFamily, ActParts } from "./parts.ts";

export function createPrepareActs(parts: ActParts): ActFamily<"read_message" | "prepare"> {
  const { slack, now } = parts;
  return {
    async read_message({ task, signal }) {
      const nowMs = now();
      const message = await readMessage({ slack, task, signal });
      return { event: { type: "message_read", nowMs, ...message } };
    },
    async prepare({ act, task, signal }) {
      const context = await prepare({ ...parts, act, task, signal, nowMs: now() });
      return { event: { type: "prepared", context } };
    },
  };
}

type PrepareRequest = Pick<
  ActParts,
  "slack" | "files" | "findTaskContext" | "contextSettings" | "inTransfer"
> & {
  act: Extract<Act, { type: "prepare" }>;
  task: Task;
  signal: AbortSignal;
  nowMs: number;
};

/** Gathers the conversation's history, the files, and names and channels. Rejects with a FileRefused, or with a SlackError if a retry may succeed. */
async function prepare(request: PrepareRequest): Promise<Context> {
  const {
    act,
    files,
    findTaskContext,
    contextSettings,
    inTransfer,
    task: storedTask,
    signal,
  } = request;
  const newest = await readAgain(request);
  if (newest !== undefined && "lack" in newest) return { newest };
  const { files: ownFiles = [], sharedFiles = [] } = newest ?? storedTask.message;
  const message = { ...storedTask.message, files: [...ownFiles], sharedFiles: [...sharedFiles] };
  const task = newest === undefined ? storedTask : { ...storedTask, message };
  const { threadTs, command, files: importedFiles = [] } = task.message;
  const work = () => files.importAttachments({ task, signal });
  const attachments = importedFiles.length > 0 ? await inTransfer({ task, work }) : [];
  const hasHistory = act.history !== undefined || (threadTs !== undefined && !command);
  // One read of the conversation is enough for its history, its files and the names in it.
  const conversation = hasHistory ? await readConversation(request) : [];
  const messages = conversation.filter(
    ({ from }) => contextSettings.otherApps || from !== "other_bot",
  );
  const furtherFiles = contextSettings.files
    ? await importFurther(
        { ...request, task },
        listThreadFiles({ messages, message: task.message }),
      )
    : { attachments: [], leftOut: undefined };
  const texts = [
    storedTask.message.text,
    newest?.text ?? "",
    storedTask.message.about?.instruction ?? "",
  ];
  const { names, context } = await findTaskContext({ task, texts, thread: messages, signal });
  const nameOf = (id: string) => (Object.hasOwn(names, id) ? names[id] : undefined);
  const mayRead = (destination: string | undefined) => mayReadAnswer(task.route, destination);
  const history = pureStep(() =>
    createThreadHistory({ messages, message: task.message, mayRead, nameOf }),
  );
  const { leftOut } = furtherFiles;
  return {
    attachments: [...attachments, ...furtherFiles.attachments],
    history,
    newest,
    names,
    context,
    leftOut,
  };
}

/** Reads the message once more if an edit or a deletion is not told to this task. */
async function readAgain(request: PrepareRequest): Promise<Context["newest"]> {
  return isToBeReadAgain(request.task) ? readMessage(request) : undefined;
}

/**
 * Reads the text and the files of a message that is tried again, or that a person asks about. They come from Slack, because Sekisho does
 * not keep them. Resolves to a `lack` if the message, or all of its files, are gone. Rejects with a SlackError.
 */
export async function readMessage(request: {
  slack: SlackApi;
  task: Task;
  signal: AbortSignal;
}): Promise<MessageRead> {
  const { slack, task, signal } = request;
  const { ts, channel, threadTs, about } = task.message;
  if (about !== undefined) {
    const call = { installation: installationOf(task), requestId: task.id, signal };
    const message = await slack.message({ ...call, channel, ts: about.ts, threadTs });
    if (message === undefined) return { lack: "message" };
    return task.retryOf !== undefined && hadFiles(task) && message.files.length === 0
      ? { lack: "files" }
      : message;
  }
  const messages = await readMessages(request);
  const message = messages.find((candidate) => candidate.ts === ts);
  if (message === undefined) return { lack: "message" };
  const { files = [], sharedFiles = [] } = message;
  if (hadFiles(task) && files.length === 0) return { lack: "files" };
  const { text, markdown = text } = message;
  const isEmpty = markdown === "" && files.length + sharedFiles.length === 0;
  return isEmpty ? { lack: "message" } : { text: markdown, files, sharedFiles };
}

/** Without them a retry would be a different request. */
function hadFiles({ message: { hadFiles, files = [] } }: Task): boolean {
  return hadFiles === true || files.length > 0;
}
