/**
 * The states `delivering` and `done`: posts the outcome in the thread, files first. Then the thread's next task may begin, a cleanup checks
 * the posts once more, and the texts are erased.
 */
import type { EventOf, TaskEffect, TaskEvent } from "./events.ts";
import { countSlackFailure, fallBackToMrkdwn, retrySlack, taskRetryDelayMs } from "./failures.ts";
import { concludedAtMs } from "./history.ts";
import { destinationOf, hasMoved, type Policy, withoutParams } from "./routing.ts";
import {
  type AgentQuestion,
  hasFailedDelivery,
  type Task,
  type TaskOutcome,
  withoutUnknown,
} from "./task.ts";
import { timeToDeadlineMs } from "./time-limits.ts";
import {
  advance,
  ambiguousOutcome,
  internalOutcome,
  markForReconcile,
  resetFailures,
  setOutcome,
  type Transition,
  wake,
} from "./transition.ts";
import { minGapMs } from "./waiting.ts";

/** The limit of tries to upload a file before the answer is posted without it. */
const maxUploadTries = 4;
/**
 * The time from the answer until none of its files is fetched any more, waiting included. It ends before `threadReleaseMs`, so that the
 * answer is posted before the thread's next task begins.
 */
const transfersMs = 60_000;

export function transfersEndAtMs(task: Task): number {
  return (concludedAtMs(task) ?? task.receivedAtMs) + transfersMs;
}

export function onWokenDelivering(
  task: Task,
  { nowMs, workerDied }: EventOf<"woken">,
  policy: Policy,
): Transition {
  return continueDelivery(task, {
    nowMs,
    reconcile: workerDied || task.reconcile === true,
    policy,
  });
}

/** Uploads the files first, because the answer's text names those that failed. Each is in the record before the next one is uploaded. */
export function continueDelivery(
  task: Task,
  { nowMs, reconcile, policy }: { nowMs: number; reconcile: boolean; policy: Policy },
): Transition {
  // A slash command's refusal or early failure is shown privately.
  if (needsThread(task))
    return { task, effects: [{ type: "open_thread", privately: true, reconcile }] };
  const index = pendingUpload(task, policy);
  if (index !== undefined) return { task, effects: [{ type: "upload", index }] };
  const restMs = settlesInMs(task, nowMs);
  if (restMs > 0) return { task, effects: [wake(restMs)] };
  return { task, effects: [{ type: "deliver", reconcile }] };
}

/** How long the answer waits, so that an earlier edit of the placeholder does not arrive after it. */
function settlesInMs({ progress }: Task, nowMs: number): number {
  if (progress === undefined) return 0;
  return Math.min(minGapMs, Math.max(0, progress.shownAtMs + minGapMs - nowMs));
}

/** True if a thread must be opened for the task, because a slash command leaves no message in the channel. */
export function needsThread({ message, threadRef }: Task): boolean {
  return message.command === true && threadRef === undefined;
}

/** The task and its follow-ups are posted in the opened thread from now on. */
export function onThreadOpened(task: Task, { threadRef }: EventOf<"thread_opened">): Transition {
  return {
    task: { ...task, threadRef, thread: `${threadRef.channel}/${threadRef.threadTs}` },
    effects: [wake(0)],
  };
}

/** The index of the answer's next file that Slack does not have yet. */
function pendingUpload(task: Task, policy: Policy): number | undefined {
  if (task.outcome?.type !== "answer" || hasFailedDelivery(task)) return undefined;
  const { uploads = [] } = task.outcome;
  return uploads.length < policy.fileCountOf(task) ? uploads.length : undefined;
}

export function onUploaded(
  task: Task,
  { fileId }: Pick<EventOf<"uploaded">, "fileId">,
): Transition {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const uploads = [
    ...(outcome.uploads ?? []),
    fileId === undefined ? { failed: true as const } : { fileId },
  ];
  // Unlike `advance`, this keeps the mark for reconciling, because an earlier delivery may have left posts in the thread.
  return { task: { ...resetFailures(task), outcome: { ...outcome, uploads } }, effects: [wake(0)] };
}

/** The answer's other files of this host are skipped after some time-outs (`files/upload.ts`), so each one is noted. */
export function onFetchTimedOut(task: Task, { index }: EventOf<"fetch_timed_out">): Transition {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const attempts = task.attempts + 1;
  const fetchTimeouts = [...(outcome.fetchTimeouts ?? []), index];
  const countedTask = { ...task, attempts, outcome: { ...outcome, fetchTimeouts } };
  if (attempts >= maxUploadTries) return onUploaded(countedTask, { fileId: undefined });
  return { task: countedTask, effects: [wake(taskRetryDelayMs(attempts, undefined))] };
}

/** The promised delay may be a minute, because nobody knows how fast the files ahead are. */
const maxTransferWaitMs = 10_000;

/**
 * Other files have the transfers. The task is in the record and holds no slot while it waits: with its answer until the time for that is
 * over, and before it is sent until its deadline. It waits for a random part of the delay, so that many tasks use each transfer as soon as
 * it is free.
 */
export function onTransferBusy(
  task: Task,
  { nowMs, delayMs }: EventOf<"transfer_busy">,
): Transition {
  const restMs =
    task.state === "delivering" ? transfersEndAtMs(task) - nowMs : timeToDeadlineMs(task, nowMs);
  const waitMs = Math.max(0, Math.min(delayMs, restMs, maxTransferWaitMs));
  const minWaitMs = Math.ceil(waitMs / 8);
  return { task, effects: [wake({ delayMs: minWaitMs, jitterMs: waitMs - minWaitMs })] };
}

/** Slack refuses to share the uploaded files, so the answer's text says that they could not be attached. */
export function onShareRefused(task: Task): Transition {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const uploads = (outcome.uploads ?? []).map(() => ({ failed: true as const }));
  const markedTask = markForReconcile(resetFailures(task));
  const delivery = { status: "posting", rewriteParts: true } as const;
  return {
    task: { ...markedTask, delivery, outcome: { ...outcome, uploads } },
    effects: [wake(0)],
  };
}

export function onDelivered(task: Task): Transition {
  return releaseThread(advance(task, { state: "done" }));
}

/** Continues the delivery. The act before was best effort: a cancel, or an act that the record noted as owed. */
export function onActOver(task: Task): Transition {
  return { task, effects: [wake(0)] };
}

export function onDeliveryFailed(task: Task, event: EventOf<"slack_failed">): Transition {
  const { again, isGivenUp } = countSlackFailure(task, event);
  if (event.act === "upload") {
    const isOver = isGivenUp || again.attempts >= maxUploadTries;
    return isOver ? onUploaded(task, { fileId: undefined }) : retrySlack(again, event);
  }
  if (hasFailedDelivery(task)) return giveUpDelivery(task);
  if (event.kind === "refused" && task.mrkdwnFallback === undefined) return fallBackToMrkdwn(again);
  // Slack refuses the answer's content, so a text of Sekisho replaces it.
  if (event.kind === "refused" && task.outcome?.type === "answer") return replaceAnswer(task);
  if (event.kind === "gone") return giveUpDelivery(task);
  return isGivenUp ? postFailureNotice(task) : retrySlack(again, event);
}

/** Replaces the answer by a text of Sekisho. Parts of the answer may be in the thread already. */
export function replaceAnswer(task: Task): Transition {
  return setOutcome(task, { ...internalOutcome, insteadOfAnswer: true }, { reconcile: true });
}

/**
 * The cancel of a task that was given up has failed. A host that refused the task may still have stored it, and may run it. Only a host
 * that does not know the task settles that.
 */
export function onGivenUpNotCanceled(
  task: Task,
  { error }: EventOf<"call_failed">,
  policy: Policy,
): Transition {
  const { outcome, call } = task;
  const isInDoubt =
    outcome?.type === "failed" && outcome.reason === "unavailable" && call?.arrival === "refused";
  const isUnknown = error.reason === "task_not_found" && !hasMoved(task, policy);
  return isInDoubt && !isUnknown ? setOutcome(task, ambiguousOutcome) : onActOver(task);
}

/** Posts one plain text as a new message instead. An unreadable thread does not prevent it, unless an earlier try may have posted it. */
function postFailureNotice(task: Task): Transition {
  return {
    task: advance(task, { delivery: { ...task.delivery, status: "failure_notice" } }),
    effects: [wake(0)],
  };
}

/** Lets the next task of the thread begin. The cleanup follows. */
export function releaseThread(task: Task): Transition {
  // Unconditional, because a worker may have died after it joined the thread or counted the task and before it saved that.
  return { task, effects: [{ type: "leave_thread" }] };
}

/** Ends the task without a delivery. Earlier posts are still cleaned up, and the outcome stays in the record. */
export function giveUpDelivery(task: Task): Transition {
  const status = task.delivery?.status === "failure_notice" ? "failure_notice" : "given_up";
  return releaseThread(advance(task, { state: "done", delivery: { ...task.delivery, status } }));
}

export function onThreadLeft(
  task: Task,
  _event: EventOf<"thread_left">,
  policy: Policy,
): Transition {
  const stopsSession = destinationOf(task, policy).stopAfterResult;
  return {
    task,
    effects: [
      ...(stopsSession ? [{ type: "stop_session" } as const] : []),
      ...scheduleCleanup(task, policy),
    ],
  };
}

/** Ignores the result of an owed cancel, because the task has ended meanwhile. */
export function onCallOverDone(task: Task, _event: TaskEvent, policy: Policy): Transition {
  return { task, effects: scheduleCleanup(task, policy) };
}

/** Schedules the cleanup, unless it has run. */
export function scheduleCleanup({ cleanupDone }: Task, { sweepAfterMs }: Policy): TaskEffect[] {
  return cleanupDone ? [] : [wake(sweepAfterMs)];
}

/** The clocks of two workers may differ by this much. */
const workerClockErrorMs = 30_000;

/** A copy of an earlier wake-up may come with the number of the cleanup's. The cleanup still waits until late posts have arrived. */
export function onWokenDone(
  task: Task,
  { nowMs, workerDied }: EventOf<"woken">,
  { sweepAfterMs }: Policy,
): Transition {
  if (task.cleanupDone) return { task, effects: [] };
  // The worker that ended the task may have died before it left the thread.
  if (workerDied) return releaseThread(task);
  const doneAtMs = task.history.findLast(({ state }) => state === "done")?.atMs ?? 0;
  const restMs = doneAtMs + sweepAfterMs - nowMs;
  return {
    task,
    effects: restMs > workerClockErrorMs ? [wake(restMs)] : [{ type: "check_thread" }],
  };
}

export function onLeftoversFound(task: Task): Transition {
  return { task, effects: [{ type: "clean_up" }] };
}

export function onCleanedUp(task: Task): Transition {
  return { task: endCleanup(task), effects: [] };
}

export function onCleanupFailed(task: Task, event: EventOf<"slack_failed">): Transition {
  const { again, isGivenUp } = countSlackFailure(task, event);
  return isGivenUp ? onCleanedUp(task) : retrySlack(again, event);
}

/** Erases the texts and marks the task as finished. There is no further wake-up. */
export function endCleanup(task: Task): Task {
  return withoutUnknown({ ...eraseTexts(task), cleanupDone: true });
}

/**
 * Erases the texts. The ids stay until the record expires, so that a late redelivery is recognized. An undelivered outcome stays too, so
 * that an operator can deliver it later.
 */
function eraseTexts(task: Task): Task {
  const {
    progress: _progress,
    stream: _stream,
    outcome,
    question,
    message,
    ...keptMembers
  } = withoutParams(task);
  const isDelivered = outcome?.type === "answer" && !hasFailedDelivery(task);
  const { files = [], sharedFiles: _sharedFiles, about, open: _open, ...keptMessage } = message;
  return {
    ...keptMembers,
    ...(outcome !== undefined &&
      !isDelivered && { outcome: hasFailedDelivery(task) ? outcome : withoutExplanation(outcome) }),
    ...(question && { question: eraseQuestion(question) }),
    message: {
      ...keptMessage,
      text: "",
      ...(files.length > 0 && { hadFiles: true }),
      ...(about && { about: eraseInstruction(about) }),
    },
    textsErased: true,
  };
}

/** A message that was asked about is read from Slack again for a retry. Its instruction is not in Slack. */
function eraseInstruction(about: NonNullable<Task["message"]["about"]>): Task["message"]["about"] {
  return { ...about, instruction: "", ...(about.instruction !== "" && { hadInstruction: true }) };
}

function withoutExplanation(outcome: TaskOutcome): TaskOutcome {
  if (outcome.type !== "failed") return outcome;
  const { explanation: _explanation, ...failure } = outcome;
  return failure;
}

/** Erases the question's texts, but keeps who answered and when. */
function eraseQuestion({ answer, ...question }: AgentQuestion): AgentQuestion {
  const { fields: _fields, ...keptQuestion } = question;
  return {
    ...keptQuestion,
    prompt: "",
    options: [],
    ...(answer && { answer: { ...answer, text: undefined, fields: undefined } }),
  };
}
