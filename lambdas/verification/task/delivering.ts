/** The way of the outcome into the thread: its place, its files, then its posts. */
import { outgoingFiles } from "../files/outgoing.ts";
import { settlesInMs } from "./progress.ts";
import { needsThread } from "./received.ts";
import { type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** Files first: only then is it known what the answer's words have to say of them. Each is in the record before the next. */
export function wokenDelivering(task: Task, { nowMs, heal }: { nowMs: number; heal: boolean }): Step {
  // What was refused, or failed early, is nobody else's business.
  if (needsThread(task)) return { task, effects: [{ type: "open_thread", privately: true, heal }] };
  const index = pendingUpload(task);
  if (index !== undefined) return { task, effects: [{ type: "upload", index }] };
  const restMs = settlesInMs(task, nowMs);
  if (restMs > 0) return { task, effects: [wake(restMs)] };
  return { task, effects: [{ type: "deliver", heal }] };
}

/** The index of the answer's next file that Slack does not have yet. */
export function pendingUpload(task: Task): number | undefined {
  if (task.outcome?.type !== "answer" || task.undelivered !== undefined) return undefined;
  const { uploads = [] } = task.outcome;
  return uploads.length < outgoingFiles(task).length ? uploads.length : undefined;
}

/** The files are there, and nobody is to see them: the words say that they could not be attached. */
export function shareRefused(task: Task): Step {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const uploads = (outcome.uploads ?? []).map(() => ({ failed: true as const }));
  return { task: { ...task, attempts: 1, revised: true, outcome: { ...outcome, uploads } }, effects: [wake(0)] };
}

export function uploaded(task: Task, { fileId }: { fileId: string | undefined }): Step {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const uploads = [...(outcome.uploads ?? []), fileId === undefined ? { failed: true as const } : { fileId }];
  // What an earlier try at the delivery may have left in the thread is still to be looked for.
  return {
    task: { ...task, attempts: Math.min(1, task.attempts), outcome: { ...outcome, uploads } },
    effects: [wake(0)],
  };
}
