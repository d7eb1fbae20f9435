/** The answers to a task's question: which are accepted, and which repeat an earlier one. */
import type { Message } from "@sekisho/contracts/a2a/part.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { checkFieldValues, describeFieldProblem } from "@sekisho/contracts/field-values.ts";
import { transitionError } from "@sekisho/contracts/methods.ts";
import type { FieldValues } from "@sekisho/contracts/question-fields.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { createParamsError } from "../params-error.ts";
import { answerChange, type TaskChange } from "./changes.ts";
import type { ExecutionTask, OpenQuestion, PersonAnswer } from "./execution-task.ts";
import { checkSize } from "./record-size.ts";

/**
 * `message` is the answer as an A2A message. `alongside` is a further change that is made if the answer is accepted. An answer without a
 * `questionId` is for the open question.
 */
export type AnswerSubmission = {
  answer: Omit<PersonAnswer, "prompt">;
  message?: Message | undefined;
  alongside?: TaskChange | undefined;
  /** True if a known id does not mean that the answer is a repetition. */
  isNew?: boolean | undefined;
};

/** The time of the answer, and how long a record is kept after its task is over. */
type Times = { nowMs: number; retentionMs: number };

/**
 * Returns undefined if the task does not ask this question, or if the answer's id is known: a late repetition must not answer the next
 * question. Throws `invalid_params` for an invalid answer, and `payload_too_large` if it does not fit into the record.
 */
export function createAnswerChange(request: AnswerSubmission & Times): TaskChange {
  const { answer: submittedAnswer, message, alongside, isNew = false, ...times } = request;
  return (task) => {
    const { question, answers } = task;
    const isRepeated = !isNew && answers?.some(({ id }) => id === submittedAnswer.id);
    if (question === undefined || isRepeated) return undefined;
    const { messageId: questionId, prompt, state } = question;
    if (submittedAnswer.questionId !== undefined && submittedAnswer.questionId !== questionId)
      return undefined;
    const isMessage = message !== undefined;
    const fields = checkAnswer({ answer: submittedAnswer, question, isMessage });
    const issue = findPersonIssue({ task, question, answer: submittedAnswer });
    if (issue !== undefined)
      throw createParamsError([isMessage ? { ...issue, path: ["message", "metadata"] } : issue]);
    const answer = {
      ...submittedAnswer,
      questionId,
      prompt,
      ...(fields && { fields }),
      ...(state !== undefined && { state }),
    };
    const nextTask = answerChange({ answer, message, ...times })(task);
    return nextTask && checkSize(alongside?.(nextTask) ?? nextTask);
  };
}

/**
 * Accepts an answer that changed nothing if it repeats an earlier one. Throws `already_exists` if its id came with other content, and
 * `invalid_state` if it is new. A button that is clicked twice makes two requests with the same content, which name their question or
 * else mean the latest one. An A2A message is recognized only by its id (A2A 1.0, section 4.1.4).
 */
export function checkRepetition(request: AnswerSubmission & { task: ExecutionTask }): void {
  const { task, answer: submittedAnswer, message, isNew = false } = request;
  const knownAnswer = isNew ? undefined : task.answers?.find(({ id }) => id === submittedAnswer.id);
  if (knownAnswer !== undefined) {
    const isToAnother =
      submittedAnswer.questionId !== undefined &&
      submittedAnswer.questionId !== knownAnswer.questionId;
    if (knownAnswer.fingerprint === submittedAnswer.fingerprint && !isToAnother) return;
    throw new SekishoError("already_exists", { details: { task_id: task.id } });
  }
  const latestAnswer =
    submittedAnswer.questionId === undefined
      ? task.answers?.at(-1)
      : task.answers?.find(({ questionId }) => questionId === submittedAnswer.questionId);
  const isSameAgain =
    message === undefined && latestAnswer?.fingerprint === submittedAnswer.fingerprint;
  const { id: taskId, correlationId, state: from } = task;
  if (!isSameAgain) throw transitionError({ taskId, correlationId, from, to: "working" });
}

/**
 * Throws if the option was not offered, a value does not fit its field, or the answer is empty. Free text is allowed even if the question
 * has options or fields. Returns the values that are given.
 */
function checkAnswer(request: {
  answer: AnswerSubmission["answer"];
  question: OpenQuestion;
  isMessage: boolean;
}): FieldValues | undefined {
  const { answer, question, isMessage } = request;
  const { option_id, text, fields, parts = [] } = answer;
  if (option_id !== undefined && !question.options?.some(({ id }) => id === option_id)) {
    throw createParamsError([
      { path: isMessage ? ["message", "metadata"] : ["option_id"], message: "was not offered" },
    ]);
  }
  const isBlank =
    !isVisible(text) && parts.every((part) => part.text !== undefined && !isVisible(part.text));
  const isEmptyAnswer = option_id === undefined && fields === undefined && isBlank;
  if (isEmptyAnswer) {
    throw createParamsError([
      {
        path: isMessage ? ["message", "parts"] : ["text"],
        message: "must not be blank without an option",
      },
    ]);
  }
  return fields === undefined ? undefined : checkFields({ values: fields, question, isMessage });
}

type Issue = { path: string[]; message: string };

/**
 * Says why the people of an answer are not those whom the question is for. The Verification zone has checked that. A client that knows
 * nothing of such rules would otherwise answer for anybody. A task without a `user_id` does not say who asked.
 */
function findPersonIssue(request: {
  task: ExecutionTask;
  question: OpenQuestion;
  answer: AnswerSubmission["answer"];
}): Issue | undefined {
  const { url, options = [], answerers, approvals = 1 } = request.question;
  const { option_id, user_id, approved_by = [] } = request.answer;
  const asker = request.task.params?.user_id;
  const isForAsker = url !== undefined || answerers === "asker";
  if (isForAsker && asker !== undefined && user_id !== asker)
    return { path: ["user_id"], message: "is not the person who asked" };
  const isOthers = user_id !== undefined && ![user_id, ...approved_by].includes(asker ?? "");
  if (answerers === "not-asker" && asker !== undefined && !isOthers)
    return { path: ["user_id"], message: "must be somebody else than the person who asked" };
  if (approvals === 1) return undefined;
  if (option_id === undefined) return { path: ["option_id"], message: "is required" };
  if (options.some(({ id, style }) => id === option_id && style === "danger")) return undefined;
  const isApproved = new Set(approved_by).size >= approvals && approved_by.includes(user_id ?? "");
  return isApproved
    ? undefined
    : {
        path: ["approved_by"],
        message: `must name ${approvals} people, and the last one in user_id`,
      };
}

function checkFields(request: {
  values: FieldValues;
  question: OpenQuestion;
  isMessage: boolean;
}): FieldValues {
  const { values, question, isMessage } = request;
  const fieldCheck = checkFieldValues({ fields: question.fields ?? [], values });
  if ("values" in fieldCheck) return fieldCheck.values;
  const path = isMessage ? ["message", "parts", "fields"] : ["fields"];
  throw createParamsError(
    fieldCheck.problems.map(({ id, problem }) => ({
      path: [...path, id],
      message: describeFieldProblem(problem),
    })),
  );
}
