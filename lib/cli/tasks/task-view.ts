/** A task's record without its texts: in their place is how long they are. What is to be shown of it is named here, field by field. */

import { safeLine } from "../../../lambdas/shared/untrusted-input.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { describeOutcome, durationText, nextText, timeText } from "./text.ts";

/** One line of a listing. */
export function rowOf({ task, nowMs }: { task: Task; nowMs: number }) {
  const { team, channel, user } = task.message;
  return {
    requestId: task.id,
    state: task.state,
    receivedAt: timeText(task.receivedAtMs),
    ageMs: nowMs - task.receivedAtMs,
    destination: task.destination ?? null,
    team,
    channel,
    user,
    thread: task.thread,
    attempts: task.attempts,
    polls: task.polls,
    next: nextText({ task, nowMs }),
  };
}

/** Everything that is known of it. Each field of the record has its line here, so that a new one is thought about. */
export function viewOf({ task, nowMs }: { task: Task; nowMs: number }) {
  const { message, params, outcome } = task;
  return {
    id: task.id,
    state: task.state,
    next: nextText({ task, nowMs }),
    outcome: outcome && outcomeOf(outcome),
    outcomeText: describeOutcome(task),
    thread: task.thread,
    principal: task.principal,
    message: {
      appId: message.appId,
      team: message.team,
      channel: message.channel,
      user: message.user,
      ts: message.ts,
      threadTs: message.threadTs,
      direct: message.direct,
      command: message.command,
      textLength: message.text.length,
      files: message.files?.length,
    },
    place: task.place,
    locale: task.locale,
    retryOf: task.retryOf,
    receivedAtMs: task.receivedAtMs,
    announcedAtMs: task.announcedAtMs,
    workStartedAtMs: task.workStartedAtMs,
    polledAtMs: task.polledAtMs,
    nextPollAtMs: task.nextPollAtMs,
    deadlineAtMs: task.deadlineAtMs,
    expiresAtMs: task.expiresAtMs,
    destination: task.destination,
    sessionId: task.sessionId,
    ownSessions: task.ownSessions,
    isSessionNew: task.isSessionNew,
    params: params === undefined ? undefined : { bytes: Buffer.byteLength(JSON.stringify(params)) },
    taskId: task.taskId,
    mayHaveArrived: task.mayHaveArrived,
    pinnedDestination: task.pinnedDestination,
    undeliveredAttempts: task.undeliveredAttempts,
    address: task.address,
    attempts: task.attempts,
    reconcile: task.reconcile,
    nonTransientFailures: task.nonTransientFailures,
    polls: task.polls,
    queuePosition: task.queuePosition,
    cancelReason: task.cancelReason,
    owed: task.owed,
    pollAfterMs: task.pollAfterMs,
    question: task.question && questionOf(task.question),
    answeredBy: task.answeredBy,
    progress: task.progress && { percent: task.progress.percent, shownAtMs: task.progress.shownAtMs },
    stream: task.stream && { messages: task.stream.messages.length, length: task.stream.length },
    mrkdwnFallback: task.mrkdwnFallback,
    rewriteParts: task.rewriteParts,
    placeholderTs: task.placeholderTs,
    undelivered: task.undelivered,
    cleanupDone: task.cleanupDone,
    textsErased: task.textsErased,
    lease: task.lease,
    wakeSeq: task.wakeSeq,
    revision: task.revision,
    trace: task.trace.traceparent,
    history: task.history.map((entry, index) => ({
      ...entry,
      sincePreviousMs: entry.atMs - (task.history[index - 1] ?? entry).atMs,
    })),
  } satisfies Record<keyof Task, unknown> & Record<string, unknown>;
}

function outcomeOf(outcome: NonNullable<Task["outcome"]>) {
  if (outcome.type === "file_refused") return { type: outcome.type, why: outcome.why, most: outcome.most };
  if (outcome.type !== "answer") return outcome;
  const { type, text, artifacts = [], uploads = [] } = outcome;
  return { type, textLength: text.length, artifacts: artifacts.length, uploads: uploads.length };
}

function questionOf({ index, askedAtMs, expiresAtMs, ts, options, answer }: NonNullable<Task["question"]>) {
  const given = answer && { user: answer.user, atMs: answer.atMs, option: answer.option };
  return { index, askedAtMs, expiresAtMs, ts, options: options.length, answer: given };
}

/** For a terminal: what is there, times as such and by how long they are away; then the history. */
export function viewLines({ task, nowMs }: { task: Task; nowMs: number }): string[] {
  const { history, id, outcomeText: _, ...view } = viewOf({ task, nowMs });
  const fields = Object.entries(view).flatMap(([name, value]) => fieldLines({ name, value, nowMs }));
  const steps = history.map(({ atMs, sincePreviousMs, state, event }, index) => {
    const since = index === 0 ? "" : `+${durationText(sincePreviousMs)}`;
    return `  ${timeText(atMs)}  ${since.padStart(8)}  ${state.padEnd(10)}  ${event}`;
  });
  return [`Task ${id}`, ...fields, "History", ...steps];
}

function fieldLines({ name, value, nowMs }: { name: string; value: unknown; nowMs: number }): string[] {
  if (value === undefined) return [];
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([inner, of]) => fieldLines({ name: `${name}.${inner}`, value: of, nowMs }));
  }
  const shownName = name.replace(/AtMs$|Ms$/, "");
  return [`  ${shownName.padEnd(18)} ${shownValue({ name, value, nowMs })}`];
}

function shownValue({ name, value, nowMs }: { name: string; value: unknown; nowMs: number }): string {
  if (name.endsWith("AfterMs")) return durationText(Number(value));
  return name.endsWith("Ms") ? timeAndAway(Number(value), nowMs) : safeLine(String(value));
}

function timeAndAway(atMs: number, nowMs: number): string {
  const awayMs = atMs - nowMs;
  return `${timeText(atMs)}  ${awayMs > 0 ? `in ${durationText(awayMs)}` : `${durationText(-awayMs)} ago`}`;
}
