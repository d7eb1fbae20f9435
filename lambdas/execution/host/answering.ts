/** What a user's answer does to a task: it goes on with it, or it said so before, or it is refused; pure. */
import type { Message } from "../../../contracts/a2a/part.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { transitionRefused } from "../../../contracts/task.ts";
import { answer, type Change } from "./changes.ts";
import type { Answer, ExecutionTask, Question } from "./execution-task.ts";
import { paramsRefused } from "./params-refused.ts";
import { checkSize } from "./record-size.ts";

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
