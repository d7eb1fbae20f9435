/** The files that a task can do without. */
import { type Files, safeFileName } from "../files/files.ts";
import type { UserFile } from "../task/messages.ts";
import type { Task } from "../task/task.ts";
import type { InTransfer } from "./transfers.ts";

/** Attaches the files of forwarded messages, then those of earlier messages of the thread. */
export async function importFurther(
  request: { files: Files; inTransfer: InTransfer; task: Task; signal: AbortSignal },
  threadFiles: readonly UserFile[],
) {
  const { files, inTransfer, task, signal } = request;
  const { files: own = [], sharedFiles = [] } = task.message;
  const ids = new Set(own.map(({ id }) => id));
  // A file may be in the thread more than once.
  const wanted = [...sharedFiles, ...threadFiles].filter(({ id }) => !ids.has(id) && ids.add(id));
  if (wanted.length === 0) return { attachments: [] };
  const work = () => files.importFurtherFiles({ task, files: wanted, signal });
  const { attachments, leftOut } = await inTransfer({ task, work });
  return { attachments, ...(leftOut.length > 0 && { leftOut: leftOut.map(({ name }) => safeFileName(name)) }) };
}
