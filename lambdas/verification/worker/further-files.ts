/** The files that a task can do without. */
import { type Files, safeFileName } from "../files/files.ts";
import type { UserFile } from "../task/messages.ts";
import type { Task } from "../task/task.ts";
import { type InTransfer, TransferBusy } from "./transfers.ts";

/** How long a task waits until a transfer is free for such files: a minute, or a quarter of its time if that is less. */
const maxWaitMs = 60_000;
const maxWaitShare = 0.25;

/**
 * Attaches the files of forwarded messages, then those of earlier messages of the thread. Rejects with a TransferBusy while it is worthwhile
 * to wait for a transfer.
 */
export async function importFurther(
  request: { files: Files; inTransfer: InTransfer; task: Task; signal: AbortSignal; nowMs: number },
  threadFiles: readonly UserFile[],
) {
  const { files, inTransfer, task, signal, nowMs } = request;
  const { files: ownFiles = [], sharedFiles = [] } = task.message;
  const ids = new Set(ownFiles.map(({ id }) => id));
  // A file may be in the thread more than once.
  const furtherFiles = [...sharedFiles, ...threadFiles].filter(
    ({ id }) => !ids.has(id) && ids.add(id),
  );
  if (furtherFiles.length === 0) return { attachments: [] };
  const work = () => files.importFurtherFiles({ task, files: furtherFiles, signal });
  const { attachments, leftOut } = await inTransfer({ task, work }).catch((error: unknown) => {
    if (error instanceof TransferBusy && hasWaited(task, nowMs))
      return { attachments: [], leftOut: furtherFiles };
    throw error;
  });
  return {
    attachments,
    ...(leftOut.length > 0 && { leftOut: leftOut.map(({ name }) => safeFileName(name)) }),
  };
}

function hasWaited({ history, call }: Task, nowMs: number): boolean {
  const beginMs = history.find(({ state }) => state === "announced")?.atMs ?? nowMs;
  const timeMs = (call?.deadlineAtMs ?? Number.POSITIVE_INFINITY) - beginMs;
  return nowMs - beginMs >= Math.min(maxWaitMs, timeMs * maxWaitShare);
}
