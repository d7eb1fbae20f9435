/** The record of a task without its texts, for scripts and for the operators' page. */
import type { Task } from "@sekisho/verification/task/task.ts";
import { countVotes } from "@sekisho/verification/usage/entry.ts";
import { namesOf, noNames } from "../names/named-task.ts";
import type { FoundNames } from "../names/slack-names.ts";
import { describeNextStep, describeOutcome, formatTime } from "./text.ts";

type Viewed = { task: Task; nowMs: number; names?: FoundNames };

/** One line of a listing. */
export function toListedTask({ task, nowMs, names = noNames }: Viewed) {
  return {
    requestId: task.id,
    state: task.state,
    receivedAt: formatTime(task.receivedAtMs),
    ageMs: nowMs - task.receivedAtMs,
    destination: task.call?.destination ?? null,
    ...pick(task.message, "team", "channel", "user"),
    ...pick(task, "thread", "attempts"),
    polls: task.wait?.polls ?? 0,
    next: describeNextStep({ task, nowMs }),
    ...namesOf({ task, names }),
  };
}

/** Shows ids, states, times and sizes. A new field of the record does not compile until it is shown here or reduced. */
export function toTaskView({ task, nowMs }: { task: Task; nowMs: number }) {
  const { message, call, outcome, question, progress, stream, history, texts } = task;
  return {
    ...pick(task, "id", "state"),
    next: describeNextStep({ task, nowMs }),
    outcome: outcome && viewOutcome(outcome),
    outcomeText: describeOutcome(task),
    ...pick(task, "thread", "principal", "listedAtMs"),
    message: {
      ...pick(message, "appId", "team", "channel", "user", "ts", "threadTs", "direct", "command"),
      textLength: message.text.length,
      files: message.files?.length,
      aboutTs: message.about?.ts,
    },
    ...pick(task, "threadRef", "locale", "retryOf", "receivedAtMs", "expiresAtMs"),
    route: task.route,
    call: call && {
      ...pick(call, "destination", "address", "sessionId", "ownSessions", "isSessionNew"),
      params: call.params && { bytes: Buffer.byteLength(JSON.stringify(call.params)) },
      ...pick(call, "deadlineAtMs", "arrival", "undeliveredAttempts", "taskId"),
    },
    ...pick(
      task,
      "wait",
      "attempts",
      "reconcile",
      "nonTransientFailures",
      "limitedReads",
      "queuePosition",
      "cancelReason",
      "owed",
    ),
    lateChange: task.lateChange,
    question: question && viewQuestion(question),
    answeredBy: task.answeredBy,
    votes: task.votes && countVotes(task.votes),
    progress: progress && pick(progress, "percent", "shownAtMs"),
    stream: stream && { messages: stream.messages.length, length: stream.length },
    ...pick(task, "mrkdwnFallback", "placeholder", "delivery", "cleanupDone", "textsErased"),
    ...pick(task, "endedAtMs", "tokens"),
    texts: texts && { questionLength: texts.question.length, answerLength: texts.answer?.length },
    ...pick(task, "lease", "wakeSeq", "wakeKey", "revision"),
    trace: task.trace.traceparent,
    history: history.map((entry, index) => ({
      ...entry,
      sincePreviousMs: entry.atMs - (history[index - 1] ?? entry).atMs,
    })),
  } satisfies Record<keyof Task, unknown> & Record<string, unknown>;
}

function viewOutcome(outcome: NonNullable<Task["outcome"]>) {
  if (outcome.type === "file_refused") return pick(outcome, "type", "why", "detail", "most");
  if (outcome.type === "failed") return pick(outcome, "type", "reason", "lost", "insteadOfAnswer");
  if (outcome.type === "help") return pick(outcome, "type");
  if (outcome.type !== "answer") return outcome;
  const { type, text, artifacts = [], uploads = [] } = outcome;
  return { type, textLength: text.length, artifacts: artifacts.length, uploads: uploads.length };
}

function viewQuestion({ options, fields, answer, ...question }: NonNullable<Task["question"]>) {
  return {
    ...pick(question, "index", "askedAtMs", "expiresAtMs", "ts"),
    options: options.length,
    fields: fields?.length,
    signIn: question.signIn && { hasLink: question.signIn.url !== undefined },
    ...pick(question, "answerers", "answerBy", "approvals"),
    answer:
      answer &&
      pick(
        answer,
        "user",
        "atMs",
        "option",
        "signedIn",
        "approvedBy",
        "arrival",
        "stillAskedTimes",
      ),
  };
}

type Picked<T, Name extends PropertyKey> = {
  [Each in Name]: Each extends keyof T ? T[Each] : never;
};

/** The named fields, as undefined where they are absent. */
function pick<T, Name extends keyof T>(from: T, ...names: Name[]): Picked<T, Name> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Picked<T, Name>;
}
