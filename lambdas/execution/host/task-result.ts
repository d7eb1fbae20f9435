/** What a client reads of a task: its result while it runs or succeeded, its error where it did not. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskResult } from "../../../contracts/methods.ts";
import { isOver, questionEndAtMs } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";

/** Throws the task's own error where it failed or was canceled. */
export function taskResult({ task, pollAfterMs }: { task: ExecutionTask; pollAfterMs: number }): TaskResult {
  const { id, correlationId, outcome, progress, question, artifacts } = task;
  if (question !== undefined) {
    const { prompt, options, kind, messageId: question_id } = question;
    const expires_at = new Date(questionEndAtMs(task)).toISOString();
    return {
      status: "input_required",
      task_id: id,
      prompt,
      ...(options && { options }),
      ...(kind && { kind }),
      question_id,
      expires_at,
    };
  }
  if (!isOver(task)) {
    const expires_at = new Date(task.expiresAtMs).toISOString();
    return { status: "accepted", task_id: id, poll_after_ms: pollAfterMs, expires_at, ...(progress && { progress }) };
  }
  if (outcome?.type === "success") {
    const { text, usage } = outcome;
    const extra = { ...(artifacts && { artifacts }), ...(usage && { usage }) };
    return { status: "success", response_text: text, ...extra, correlation_id: correlationId };
  }
  const details = { task_id: id, correlation_id: correlationId, ...(outcome?.lost && { lost: true }) };
  throw new SekishoError(outcome?.reason ?? "canceled", { details });
}
