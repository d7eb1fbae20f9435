import { sanitizeLine } from "../../../lambdas/shared/untrusted-input.ts";
import type { Task, TaskCall } from "../../../lambdas/verification/task/task.ts";
import { describeNextStep, describeOutcome, formatDuration, formatTime } from "./text.ts";

/** One line of a listing. */
export function toListedTask({ task, nowMs }: { task: Task; nowMs: number }) {
  const { team, channel, user } = task.message;
  return {
    requestId: task.id,
    state: task.state,
    receivedAt: formatTime(task.receivedAtMs),
    ageMs: nowMs - task.receivedAtMs,
    destination: task.call?.destination ?? null,
    team,
    channel,
    user,
    thread: task.thread,
    attempts: task.attempts,
    polls: task.wait?.polls ?? 0,
    next: describeNextStep({ task, nowMs }),
  };
}

/** Everything that is known of it. Each field of the record has its line here, so that a new one is thought about. */
export function toTaskView({ task, nowMs }: { task: Task; nowMs: number }) {
  const { message, call, outcome } = task;
  return {
    id: task.id,
    state: task.state,
    next: describeNextStep({ task, nowMs }),
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
    threadRef: task.threadRef,
    locale: task.locale,
    retryOf: task.retryOf,
    receivedAtMs: task.receivedAtMs,
    expiresAtMs: task.expiresAtMs,
    call: call && callOf(call),
    wait: task.wait,
    attempts: task.attempts,
    reconcile: task.reconcile,
    nonTransientFailures: task.nonTransientFailures,
    queuePosition: task.queuePosition,
    cancelReason: task.cancelReason,
    owed: task.owed,
    question: task.question && questionOf(task.question),
    answeredBy: task.answeredBy,
    progress: task.progress && { percent: task.progress.percent, shownAtMs: task.progress.shownAtMs },
    stream: task.stream && { messages: task.stream.messages.length, length: task.stream.length },
    mrkdwnFallback: task.mrkdwnFallback,
    placeholder: task.placeholder,
    delivery: task.delivery,
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

function callOf(call: TaskCall) {
  return {
    destination: call.destination,
    address: call.address,
    sessionId: call.sessionId,
    ownSessions: call.ownSessions,
    isSessionNew: call.isSessionNew,
    params: call.params && { bytes: Buffer.byteLength(JSON.stringify(call.params)) },
    deadlineAtMs: call.deadlineAtMs,
    arrival: call.arrival,
    undeliveredAttempts: call.undeliveredAttempts,
    taskId: call.taskId,
  } satisfies Record<keyof TaskCall, unknown>;
}

function questionOf({ index, askedAtMs, expiresAtMs, ts, options, answer }: NonNullable<Task["question"]>) {
  const given = answer && { user: answer.user, atMs: answer.atMs, option: answer.option };
  return { index, askedAtMs, expiresAtMs, ts, options: options.length, answer: given };
}

/** For a terminal: what is there, times as such and by how long they are away; then the history. */
export function formatTaskView({ task, nowMs }: { task: Task; nowMs: number }): string[] {
  const { history, id, outcomeText: _, ...view } = toTaskView({ task, nowMs });
  const fields = Object.entries(view).flatMap(([name, value]) => fieldLines({ name, value, nowMs }));
  const steps = history.map(({ atMs, sincePreviousMs, state, event }, index) => {
    const since = index === 0 ? "" : `+${formatDuration(sincePreviousMs)}`;
    return `  ${formatTime(atMs)}  ${since.padStart(8)}  ${state.padEnd(10)}  ${event}`;
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
  if (name.endsWith("AfterMs")) return formatDuration(Number(value));
  return name.endsWith("Ms") ? timeAndAway(Number(value), nowMs) : sanitizeLine(String(value));
}

function timeAndAway(atMs: number, nowMs: number): string {
  const awayMs = atMs - nowMs;
  return `${formatTime(atMs)}  ${awayMs > 0 ? `in ${formatDuration(awayMs)}` : `${formatDuration(-awayMs)} ago`}`;
}
