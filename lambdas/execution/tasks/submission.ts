/** A task as it is asked for, whatever protocol brought it, and the first record that is made of it. */
import type { Message } from "../../../contracts/a2a/part.ts";
import type { RequestId } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { transitionRefused } from "../../../contracts/methods.ts";
import type { Trace } from "../../shared/trace.ts";
import { paramsRefused } from "../http/exchange.ts";
import { answer, type Change, isAsking } from "./changes.ts";
import {
  type Answer,
  type ExecutionTask,
  type Question,
  type StoredPushConfig,
  type TaskInput,
  withMessages,
} from "./execution-task.ts";
import { checkSize } from "./task-store.ts";

export type Submission = {
  principal: string;
  /** The same for every repetition; undefined where repetitions are not known as such. */
  taskId: string | undefined;
  /** Of the request or the message that begins the task. */
  requestId: RequestId;
  /** Of what a repetition must say as well. */
  fingerprint: string;
  input: TaskInput;
  /** Handed to the agent and kept nowhere. */
  botToken?: string | undefined;
  trace: Trace;
  receivedAtMs: number;
  /** Where it came over A2A. */
  a2a?: { contextId: string; message: Message; pushConfigs: StoredPushConfig[] | undefined };
};

/** The contract's longest correlation id; an A2A message's may be longer. */
const maxCorrelationIdLength = 128;

/**
 * The deadline counts from the receipt, since the clocks of the zones may differ. A request that names no time gets at most what
 * is left of the process (`leftMs`), but no less than a quarter of an hour. Throws `payload_too_large` for a message of
 * A2A that no record holds: its text and its files are in there twice.
 */
export function newTask({
  submission: { principal, taskId, requestId, fingerprint, input, trace, receivedAtMs, a2a },
  maxTaskMs,
  leftMs = Number.POSITIVE_INFINITY,
  retentionMs,
  newId,
}: {
  submission: Submission;
  maxTaskMs: number;
  leftMs?: number;
  retentionMs: number;
  newId: () => string;
}): ExecutionTask {
  const deadlineAtMs = receivedAtMs + Math.min(input.timeout_ms ?? Math.max(leftMs, leastUnnamedMs), maxTaskMs);
  const id = taskId ?? newId();
  const requestName = String(requestId);
  const task: ExecutionTask = {
    id,
    revision: 1,
    state: "submitted",
    principal,
    requestId,
    correlationId: input.correlation_id ?? (requestName.length > maxCorrelationIdLength ? id : requestName),
    fingerprint,
    trace,
    createdAtMs: receivedAtMs,
    changedAtMs: receivedAtMs,
    deadlineAtMs,
    expiresAtMs: deadlineAtMs + retentionMs,
    ...(input.callback === true && { callback: true as const }),
    params: input,
  };
  if (a2a === undefined) return task;
  const { contextId, message, pushConfigs } = a2a;
  const own = { contextId, messages: [], ...(pushConfigs && { pushConfigs }) };
  return checkSize(withMessages({ task: { ...task, listedAtMs: receivedAtMs, a2a: own }, messages: [message] }));
}

/**
 * `message` is the answer as A2A brought it, `alongside` what else its record is to say, if it is taken. Without a `questionId`
 * the answer is to whatever the task asks.
 */
export type Said = { answer: Omit<Answer, "prompt">; message?: Message | undefined; alongside?: Change | undefined };

/** When the answer came, and how long a record is kept beyond its task. */
type Times = { nowMs: number; retentionMs: number };

/**
 * Undefined where the task asks nothing, or not the question that is answered, and where the answer's id came before: a late
 * repetition is no answer to the next question. Throws `invalid_params` for what answers nothing, and `payload_too_large` for more than a record holds.
 */
export function answerOnce({ answer: said, message, alongside, ...times }: Said & Times): Change {
  return (task) => {
    const { question, answers } = task;
    if (question === undefined || answers?.some(({ id }) => id === said.id)) return undefined;
    const { messageId: questionId, prompt } = question;
    if (said.questionId !== undefined && said.questionId !== questionId) return undefined;
    checkAnswer({ said, question, isMessage: message !== undefined });
    const next = answer({ answer: { ...said, questionId, prompt }, message, ...times })(task);
    return next && checkSize(alongside?.(next) ?? next);
  };
}

/**
 * For an answer that changed nothing: returns where it is the repetition of one that did. Throws `already_exists` where its id
 * came with other content, and `invalid_state` where it is new. A button that is clicked twice makes two requests of the same
 * words, to the question that they name or else to the latest that was answered; a message of A2A is known by its id alone
 * (A2A 1.0, section 4.1.4).
 */
export function checkRepetition({ task, answer: said, message }: Said & { task: ExecutionTask }): void {
  const known = task.answers?.find(({ id }) => id === said.id);
  if (known !== undefined) {
    const isToAnother = said.questionId !== undefined && said.questionId !== known.questionId;
    if (known.fingerprint === said.fingerprint && !isToAnother) return;
    throw new SekishoError("already_exists", { details: { task_id: task.id } });
  }
  const given =
    said.questionId === undefined
      ? task.answers?.at(-1)
      : task.answers?.find(({ questionId }) => questionId === said.questionId);
  const isSameAgain = message === undefined && given?.fingerprint === said.fingerprint;
  const { id: taskId, correlationId, state: from } = task;
  if (!isSameAgain) throw transitionRefused({ taskId, correlationId, from, to: "working" });
}

/** Words that are no option are fine: agents take them as they are. */
function checkAnswer(request: { said: Said["answer"]; question: Question; isMessage: boolean }): void {
  const { said, question, isMessage } = request;
  const { option_id, text, parts = [] } = said;
  if (option_id !== undefined && !question.options?.some(({ id }) => id === option_id)) {
    throw paramsRefused([{ path: isMessage ? ["message", "metadata"] : ["option_id"], message: "was not offered" }]);
  }
  const saysNothing = option_id === undefined && text === "" && parts.every((part) => part.text === "");
  if (saysNothing) {
    throw paramsRefused([{ path: isMessage ? ["message", "parts"] : ["text"], message: "says nothing" }]);
  }
}

/** How long this process lives. A platform that ends its machines would end their tasks with them. */
export type Lifetime = {
  /** How long a task that begins now may take; infinite where nothing ends the process. */
  leftMs(): number;
  /** Whether the task can be run to its end here. */
  canFinish(task: Pick<ExecutionTask, "state" | "deadlineAtMs" | "changedAtMs">): boolean;
};

/** Between the end of a task's time and the end of the process: the outcome is stored, and the process is a little older than it knows. */
const marginMs = 60_000;
/** The process's own clock and the clock of deadlines tick in different steps. */
const clockStepMs = 1000;
/** Least time for a task whose request names none. */
const leastUnnamedMs = 15 * 60_000;

/** `processLeftMs` says how long the platform lets the process live from now on. */
export function createLifetime({ processLeftMs, now }: { processLeftMs: () => number; now: () => number }): Lifetime {
  const leftMs = () => Math.max(0, processLeftMs() - marginMs);
  return {
    leftMs,
    canFinish({ state, deadlineAtMs, changedAtMs }) {
      // While a task waits for a person, its time stands still.
      const sinceMs = isAsking({ state }) ? changedAtMs : now();
      return deadlineAtMs - sinceMs <= leftMs() + clockStepMs;
    },
  };
}

/** The lifetime of a process that only its owner ends. */
export const endless: Lifetime = { leftMs: () => Number.POSITIVE_INFINITY, canFinish: () => true };

/** Nothing was begun and nothing stored: another session may be asked. */
export function sessionEnding(): SekishoError {
  return new SekishoError("session_ending");
}
