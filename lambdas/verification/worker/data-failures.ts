/** Failures of Sekisho's own code on the data of a task: how they are recognized, and texts that broken data cannot make fail. */
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { AgentQuestion, Task } from "../task/task.ts";

/** Sekisho's own pure code failed on a task's data. Unlike a failure of a service, every retry would fail too. */
class PureStepError extends Error {
  constructor(cause: unknown) {
    super("Pure code failed on the data of a task.", { cause });
    this.name = "PureStepError";
  }
}

/** Turns every error of `run` into a PureStepError. */
export function pureStep<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new PureStepError(cause);
  }
}

/**
 * True if the task's data caused the error, so that every retry would fail. A stack or a text that grew too long counts too; the message is
 * checked because V8 also throws a RangeError for a shortage of memory, which is temporary. An ItemError of an act does not count, because
 * it belongs to another record, such as the allowlist, which may be repaired.
 */
export function isDataFailure(error: unknown): boolean {
  if (error instanceof PureStepError) return true;
  return (
    error instanceof RangeError && /call stack|string length|array length/i.test(error.message)
  );
}

/** The class of the underlying error for the log, never its message. */
export function causeKindOf(error: unknown): string {
  const cause = error instanceof PureStepError || error instanceof ItemError ? error.cause : error;
  return errorKind(cause);
}

/**
 * Wraps the texts for people so that broken data cannot make them fail. A placeholder, question, opening or status that cannot be shown
 * with the task's texts is shown without them. An outcome has no such fallback: it throws a PureStepError, and the task machine
 * replaces it.
 */
export function createSafeText(text: TaskText): TaskText {
  return {
    placeholder: (task) => withFallback(text.placeholder, task, withoutTexts(task)),
    question: ({ task, nowMs }) =>
      withFallback(text.question, { task, nowMs }, { task: withoutTexts(task), nowMs }),
    opening: (task) => withFallback(text.opening, task, withoutTexts(task)),
    status: (task) => withFallback(text.status, task, withoutTexts(task)),
    sessionTitle: (task) => withFallback(text.sessionTitle, task, withoutTexts(task)),
    parts: (task) => pureStep(() => text.parts(task)),
    replaced: text.replaced,
    lateChange: text.lateChange,
    questionModal: text.questionModal,
    noLinkModal: text.noLinkModal,
    withoutRetry: text.withoutRetry,
    buttonClickRefused: text.buttonClickRefused,
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
  return {
    ...task,
    message: { ...message, text: "" },
    ...(question && { question: withoutText(question) }),
  };
}

function withoutText({ answer, ...question }: AgentQuestion): AgentQuestion {
  const { fields: _fields, ...keptQuestion } = question;
  const erasedAnswer = answer && { answer: { ...answer, text: undefined, fields: undefined } };
  return { ...keptQuestion, prompt: "", options: [], ...erasedAnswer };
}
