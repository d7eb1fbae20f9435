/** Tells failures of our own pure code on a task's data from failures of what it talks to. Only the latter may be tried again. */

import { ItemError } from "../../shared/engine/records.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { Question, Task } from "../task/task.ts";

class PureStepError extends Error {
  constructor(cause: unknown) {
    super("Pure code failed on the data of a task.", { cause });
    this.name = "PureStepError";
  }
}

/** Whatever `run` throws becomes a PureStepError. */
export function pureStep<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new PureStepError(cause);
  }
}

/**
 * A stack or a text that became too long comes from data too, wherever it is thrown. An ItemError of an act is of another record
 * than the task's own, such as the rules for who may ask: that may be put right meanwhile.
 */
export function isDataFailure(thrown: unknown): boolean {
  return thrown instanceof PureStepError || isTooLong(thrown);
}

/** V8 says with a RangeError also that memory is short (`Array buffer allocation failed`), which passes. */
function isTooLong(thrown: unknown): boolean {
  return thrown instanceof RangeError && /call stack|string length|array length/i.test(thrown.message);
}

/** The class of the error beneath, for the log; never its message. */
export function causeKindOf(thrown: unknown): string {
  const cause = thrown instanceof PureStepError || thrown instanceof ItemError ? thrown.cause : thrown;
  return errorKind(cause);
}

// Texts for people that survive their data: where the agent's words cannot be shown, ours stand alone.

/**
 * A placeholder, a question, an opening or a status is shown without the texts of others where it cannot be shown with them. An
 * outcome has nothing to fall back to here: then a PureStepError is thrown, and the task machine replaces it.
 */
export function createSafeText(text: TaskText): TaskText {
  return {
    placeholder: (task) => withFallback(text.placeholder, task, withoutTexts(task)),
    question: ({ task, nowMs }) => withFallback(text.question, { task, nowMs }, { task: withoutTexts(task), nowMs }),
    opening: (task) => withFallback(text.opening, task, withoutTexts(task)),
    status: (task) => withFallback(text.status, task, withoutTexts(task)),
    parts: (task) => pureStep(() => text.parts(task)),
    replaced: text.replaced,
    pressRefused: text.pressRefused,
  };
}

function withFallback<A, R>(show: (about: A) => R, about: A, fallback: A): R {
  try {
    return show(about);
  } catch {
    return pureStep(() => show(fallback));
  }
}

function withoutTexts({ progress: _, question, message, ...task }: Task): Task {
  return { ...task, message: { ...message, text: "" }, ...(question && { question: withoutText(question) }) };
}

function withoutText({ answer, ...question }: Question): Question {
  return { ...question, prompt: "", options: [], ...(answer && { answer: { ...answer, text: undefined } }) };
}
