/** Runs the acts that call the Execution zone. Each takes a slot of its destination, so that a slow destination does not block others. */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { signedInText } from "@sekisho/contracts/sign-in.ts";
import type { CallAsker } from "@sekisho/runtime/asker/asker.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import type { WorkerDestination } from "../destinations.ts";
import type { FindEmail } from "../lookups/person-email.ts";
import { type DestinationSlots, minDelayMs } from "../slots.ts";
import type { CallAct, CallFailure, TaskEffect, TaskEvent } from "../task/events.ts";
import type { Task } from "../task/task.ts";
import { findAsker } from "./asker.ts";

export type ExecutionCall = Extract<TaskEffect, { type: CallAct }>;
type CallRequest = { act: ExecutionCall; task: Task; signal: AbortSignal };

export type ExecutionCalls = {
  /** A failed call resolves to an event. */
  run(request: CallRequest): Promise<TaskEvent>;
  /** Best effort, because a session that is not stopped ends by itself. */
  stopSession(request: { task: Task; signal: AbortSignal }): Promise<void>;
};

export function createCallRunner(options: {
  destinations: ReadonlyMap<string, WorkerDestination>;
  slotsOf: (destination: string | undefined) => DestinationSlots;
  /** Absent if no destination gets e-mail addresses. */
  findEmail?: FindEmail | undefined;
  newId: () => string;
  now: () => number;
  /** Aborts when the process stops. Polls that wait for news then end. */
  stopping?: AbortSignal | undefined;
}): ExecutionCalls {
  const { destinations, slotsOf, findEmail, newId, now, stopping } = options;

  async function runInSlot(request: CallRequest): Promise<TaskEvent> {
    const { act, task } = request;
    const kind = act.type === "answer" || act.type === "cancel" ? "control" : act.type;
    const slot = await slotsOf(task.call?.destination)[kind].take();
    if ("delayMs" in slot) return { type: "busy", delayMs: slot.delayMs };
    const waitMs = act.type === "poll" && mayWait(task) ? destinationOf(task).longPollMs : 0;
    try {
      return await (waitMs > 0 ? waitForNews(request, waitMs) : call(request));
    } finally {
      slot.release({ isMeasured: waitMs === 0 });
    }
  }

  /** A poll that waits at the destination, until the process stops. The next process then polls again. */
  async function waitForNews(request: CallRequest, waitMs: number): Promise<TaskEvent> {
    const { signal } = request;
    const untilStop = stopping === undefined ? signal : AbortSignal.any([signal, stopping]);
    try {
      return await call({ ...request, signal: untilStop }, waitMs);
    } catch (error) {
      if (untilStop.aborted && !signal.aborted) return { type: "busy", delayMs: minDelayMs };
      throw error;
    }
  }

  async function call({ act, task, signal }: CallRequest, waitMs = 0): Promise<TaskEvent> {
    const destination = destinationOf(task);
    // An untold destination costs nothing, not even a promise.
    const asker =
      destination.asker &&
      (await findAsker({
        ...{ destination, task, findEmail, signal },
        answer: act.type === "answer" ? task.question?.answer : undefined,
        isOwnWord: act.type === "send" || act.type === "answer",
      }));
    const request = { ...destination, task, asker, newId, signal };
    switch (act.type) {
      case "send":
        return { type: "answered", act: "send", result: await sendTaskCall(request), nowMs: now() };
      case "poll": {
        const result = await pollTask({ ...request, by: act.by, waitMs });
        return { type: "answered", act: "poll", result, nowMs: now() };
      }
      case "answer":
        return { type: "answered", act: "answer", result: await answerTask(request), nowMs: now() };
      case "cancel":
        await cancelTask(request);
        return { type: "canceled", nowMs: now() };
    }
  }

  /**
   * True if a poll may wait at the destination for news, because most slots are free. The first poll does not wait, nor one after news that
   * the thread does not show yet: there may be no further news for a long time.
   */
  function mayWait({ state, cancelReason, wait, progress, call }: Task): boolean {
    if (state !== "waiting" || cancelReason !== undefined) return false;
    const isShown = (wait?.polls ?? 0) > 1 && progress?.isUnshown !== true;
    return isShown && slotsOf(call?.destination).poll.isIdle();
  }

  function destinationOf(task: Task): WorkerDestination {
    const destination = destinations.get(task.call?.destination ?? "");
    if (destination === undefined) throw new SekishoError("agent_not_found");
    return destination;
  }

  return {
    async run(request) {
      try {
        return await runInSlot(request);
      } catch (error) {
        if (!(error instanceof SekishoError)) throw error;
        return {
          type: "call_failed",
          nowMs: now(),
          act: request.act.type,
          error: failureOf(error),
        };
      }
    },
    async stopSession({ task: { call }, signal }) {
      if (call === undefined) return;
      const { client } = destinations.get(call.destination) ?? {};
      await client?.stopSession?.({ sessionId: call.sessionId, signal }).catch(() => {});
    },
  };
}

function failureOf(error: SekishoError): CallFailure {
  return {
    reason: error.reason,
    certainty: error.certainty,
    retryAfterMs: error.details.retry_after_ms,
    lost: error.details.lost === true,
    ...(error.explanation !== undefined && { explanation: error.explanation }),
  };
}

/** Every call of a task carries its session id and its trace. */
type ExecuteCall = Pick<
  WorkerDestination,
  "client" | "callTimeoutMs" | "sendTimeoutMs" | "botToken"
> & {
  task: Task;
  /** Absent if the destination is not told. */
  asker?: CallAsker | undefined;
  signal: AbortSignal;
};

/** Sends the stored params with the request id as the JSON-RPC id, so that the host recognises a repetition. */
export async function sendTaskCall(request: ExecuteCall): Promise<TaskResult> {
  const { client, callTimeoutMs, sendTimeoutMs = callTimeoutMs, botToken, task, signal } = request;
  if (task.call?.params === undefined) throw new SekishoError("internal");
  const secret = botToken && {
    bot_token: await readToken({ botToken: () => botToken(task), callTimeoutMs, signal }),
  };
  const params = { ...task.call?.params, ...secret };
  const call = common({ ...request, callTimeoutMs: sendTimeoutMs });
  return client.call({ method: "execute_task", params, id: task.id, ...call });
}

export async function pollTask(
  request: ExecuteCall & { by: "task_id" | "request_id"; waitMs: number; newId: () => string },
): Promise<TaskResult> {
  const { client, task, by, waitMs, newId } = request;
  const key = by === "task_id" ? { task_id: task.call?.taskId } : { request_id: task.id };
  const params = waitMs > 0 ? { ...key, wait_ms: waitMs } : key;
  return client.call({
    method: "get_task",
    params,
    id: newId(),
    ...common(request),
  });
}

/** Sends the person's reply with its own JSON-RPC id, so that the host recognises a repetition. */
async function answerTask(request: ExecuteCall): Promise<TaskResult> {
  const { client, callTimeoutMs, sendTimeoutMs = callTimeoutMs, task } = request;
  const { question, call } = task;
  if (question?.answer === undefined || call?.taskId === undefined)
    throw new SekishoError("internal");
  const { option, fields, user, callId, approvedBy, signedIn } = question.answer;
  const text = signedIn ? signedInText : question.answer.text;
  const chosenOption = option === undefined ? undefined : question.options[option];
  const params = {
    task_id: call.taskId,
    // An option without a usable id is named by its label.
    ...(chosenOption?.id ? { option_id: chosenOption.id } : {}),
    ...(text === undefined && chosenOption?.id !== ""
      ? {}
      : { text: text ?? chosenOption?.label ?? "" }),
    ...(fields === undefined ? {} : { fields }),
    user_id: user,
    ...(approvedBy === undefined ? {} : { approved_by: approvedBy }),
    ...(question.id === undefined ? {} : { question_id: question.id }),
  };
  const callOptions = common({ ...request, callTimeoutMs: sendTimeoutMs });
  return client.call({ method: "answer_task", params, id: callId, ...callOptions });
}

async function cancelTask(request: ExecuteCall & { newId: () => string }): Promise<void> {
  const { client, task, newId } = request;
  const key =
    task.call?.taskId === undefined ? { request_id: task.id } : { task_id: task.call?.taskId };
  const params = { ...key, reason: task.cancelReason ?? "undeliverable" };
  await client.call({
    method: "cancel_task",
    params,
    id: newId(),
    ...common(request),
  });
}

/** Reads the bot token. Without one nothing is sent, so a failure is `undelivered`. */
async function readToken(request: {
  botToken: () => Promise<string>;
  callTimeoutMs: number;
  signal: AbortSignal;
}) {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.callTimeoutMs)]);
  try {
    return await abortable({ promise: request.botToken(), signal });
  } catch (cause) {
    throw new SekishoError("unavailable", { cause, certainty: "undelivered" });
  }
}

function common(request: Pick<ExecuteCall, "callTimeoutMs" | "task" | "asker" | "signal">) {
  const { callTimeoutMs, task, asker, signal } = request;
  return {
    requestId: task.id,
    ...(asker && { asker }),
    sessionId: task.call?.sessionId ?? "",
    timeoutMs: callTimeoutMs,
    trace: task.trace,
    signal,
  };
}
