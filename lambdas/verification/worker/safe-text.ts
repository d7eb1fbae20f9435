/** Texts for people that survive their data: where the agent's words cannot be shown, ours stand alone. */
import type { TaskText } from "../slack/task-text.ts";
import type { Question, Task } from "../task/task.ts";
import { pureStep } from "./pure-step.ts";

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
  return { ...task, message: { ...message, text: "" }, ...(question && { question: withoutWords(question) }) };
}

function withoutWords({ answer, ...question }: Question): Question {
  return { ...question, prompt: "", options: [], ...(answer && { answer: { ...answer, text: undefined } }) };
}
