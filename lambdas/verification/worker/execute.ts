/** The acts towards the Execution zone: send, poll, answer, cancel. All of a task's calls carry its session id and its trace. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskResult } from "../../../contracts/methods.ts";
import type { Task } from "../task/task.ts";
import { abortable } from "../transport/abortable.ts";
import type { WorkerDestination } from "./calls.ts";

type CallRequest = Pick<WorkerDestination, "client" | "callTimeoutMs" | "botToken"> & {
  task: Task;
  signal: AbortSignal;
};

/** The stored params under the task's own id, the same at every repetition. */
export async function executeTask({ client, callTimeoutMs, botToken, task, signal }: CallRequest): Promise<TaskResult> {
  if (task.params === undefined) throw new SekishoError("internal");
  const secret = botToken && { bot_token: await readToken({ botToken: () => botToken(task), callTimeoutMs, signal }) };
  const params = { ...task.params, ...secret };
  return client.call({ method: "execute_task", params, id: task.id, ...common({ callTimeoutMs, task, signal }) });
}

export async function pollTask(
  request: CallRequest & { by: "task_id" | "request_id"; waitMs: number; newId: () => string },
): Promise<TaskResult> {
  const { client, callTimeoutMs, task, by, waitMs, newId, signal } = request;
  const key = by === "task_id" ? { task_id: task.taskId } : { request_id: task.id };
  const params = waitMs > 0 ? { ...key, wait_ms: waitMs } : key;
  return client.call({ method: "get_task", params, id: newId(), ...common({ callTimeoutMs, task, signal }) });
}

/** The person's answer under its own id, the same at every repetition. */
export async function answerTask({ client, callTimeoutMs, task, signal }: CallRequest): Promise<TaskResult> {
  const { question, taskId } = task;
  if (question?.answer === undefined || taskId === undefined) throw new SekishoError("internal");
  const { option, text, user, callId } = question.answer;
  const chosen = option === undefined ? undefined : question.options[option];
  const params = {
    task_id: taskId,
    // An option without an id that can be sent is told by what its button says.
    ...(chosen?.id ? { option_id: chosen.id } : {}),
    ...(text === undefined && chosen?.id !== "" ? {} : { text: text ?? chosen?.label ?? "" }),
    user_id: user,
    ...(question.id === undefined ? {} : { question_id: question.id }),
  };
  return client.call({ method: "answer_task", params, id: callId, ...common({ callTimeoutMs, task, signal }) });
}

export async function cancelTask(request: CallRequest & { newId: () => string }): Promise<void> {
  const { client, callTimeoutMs, task, newId, signal } = request;
  const key = task.taskId === undefined ? { request_id: task.id } : { task_id: task.taskId };
  const params = { ...key, reason: task.ending ?? "undeliverable" };
  await client.call({ method: "cancel_task", params, id: newId(), ...common({ callTimeoutMs, task, signal }) });
}

/** Without it nothing is sent. */
async function readToken(request: { botToken: () => Promise<string>; callTimeoutMs: number; signal: AbortSignal }) {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.callTimeoutMs)]);
  try {
    return await abortable({ promise: request.botToken(), signal });
  } catch (cause) {
    throw new SekishoError("unavailable", { cause, undelivered: true });
  }
}

function common({ callTimeoutMs, task, signal }: { callTimeoutMs: number; task: Task; signal: AbortSignal }) {
  return { requestId: task.id, sessionId: task.sessionId ?? "", timeoutMs: callTimeoutMs, trace: task.trace, signal };
}
