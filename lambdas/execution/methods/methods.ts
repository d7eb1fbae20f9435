/** `execute_task`: the result within the sync budget, or `accepted` and the work goes on. */
import { SekishoError } from "../../../contracts/errors.ts";
import { dedupedIdSchema, type TaskResult } from "../../../contracts/methods.ts";
import { buildOpenRpc, type OpenRpc } from "../../../contracts/openrpc.ts";
import { newTrace } from "../../shared/trace.ts";
import type { Method } from "../http/exchange.ts";
import { isAsking, isOver, questionEndAtMs } from "../tasks/changes.ts";
import { digest, type ExecutionTask, fingerprintOf, taskIdOf } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";

/** A host that stops takes nothing new: `unavailable`, and the same id may be sent to the next one. */
export function executeTask({
  tasks,
  syncBudgetMs,
  pollAfterMs,
  isStopping,
}: {
  tasks: Tasks;
  syncBudgetMs: number;
  pollAfterMs: number;
  isStopping: () => boolean;
}): Method<"execute_task"> {
  return async ({ params, id, caller: { principal, trace, receivedAtMs } }) => {
    if (isStopping()) throw new SekishoError("unavailable");
    const { bot_token: botToken, ...input } = params;
    const task = await tasks.submit({
      principal,
      taskId: taskIdOf({ principal, requestId: id }),
      requestId: id,
      fingerprint: fingerprintOf(params),
      input,
      botToken,
      trace: trace ?? newTrace(),
      receivedAtMs,
    });
    // What was taken is never refused: where it cannot be watched, the caller polls.
    const latest = await tasks.wait({ task, until: isAsking, timeoutMs: syncBudgetMs }).catch(() => task);
    return taskResult({ task: latest, pollAfterMs });
  };
}

// `get_task`: how a task stands; with `wait_ms` the answer is held until its state or its progress changes.

export function getTask({ tasks, pollAfterMs }: { tasks: Tasks; pollAfterMs: number }): Method<"get_task"> {
  return async ({
    params: { task_id: taskId, request_id: requestId, wait_ms: timeoutMs = 0 },
    caller: { principal },
  }) => {
    const task = await tasks.find({ principal, taskId, requestId });
    const before = JSON.stringify([task.state, task.progress]);
    const latest = await tasks.wait({
      task,
      until: ({ state, progress }) => JSON.stringify([state, progress]) !== before,
      timeoutMs,
    });
    return taskResult({ task: latest, pollAfterMs });
  };
}

// `cancel_task`: the task is canceled from now on, whatever its agent still does; canceling twice is fine.

export function cancelTask({ tasks }: { tasks: Tasks }): Method<"cancel_task"> {
  return async ({ params: { task_id: taskId, request_id: requestId }, caller: { principal } }) => {
    const task = await tasks.cancel({ principal, taskId, requestId });
    return { status: "canceled", task_id: task.id };
  };
}

// `answer_task`: the user's answer to the question that a task waits with; the same answer again gets the same result.

/** An id that is no UUID says nothing of repetitions: many clients count from 1, or have one for all. */
export function answerTask({
  tasks,
  pollAfterMs,
  newId,
}: {
  tasks: Tasks;
  pollAfterMs: number;
  newId: () => string;
}): Method<"answer_task"> {
  return async ({ params: { task_id: taskId, ...said }, id, caller: { principal } }) => {
    const { option_id, text = "", user_id, question_id: questionId } = said;
    const answerId = dedupedIdSchema.safeParse(id).success ? String(id).toLowerCase() : newId();
    const fingerprint = digest([option_id, text, user_id]);
    const answer = { id: answerId, questionId, fingerprint, option_id, text, user_id };
    const task = await tasks.answer({ principal, taskId, answer });
    return taskResult({ task, pollAfterMs });
  };
}

// `rpc.discover`: the contract itself, as an OpenRPC document.

export function discover(): Method<"rpc.discover"> {
  return async () => openRpc();
}

// The contract's OpenRPC document, built when it is first asked for and kept.

let built: OpenRpc | undefined;

export function openRpc(): OpenRpc {
  built ??= buildOpenRpc();
  return built;
}

// What a client reads of a task: its result while it runs or succeeded, its error where it did not.

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
