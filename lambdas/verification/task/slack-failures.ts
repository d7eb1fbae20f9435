/** What follows when Slack did not take an announcement, a question, a delivery or a cleanup. */

import * as z from "zod";
import { end, uploaded } from "./ending.ts";
import type { TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { fileMissing, withParams } from "./received.ts";
import {
  advance,
  endCleanup,
  failed,
  giveUpDelivery,
  markForReconcile,
  retryDelayMs,
  type Step,
  setOutcome,
  wake,
} from "./step.ts";
import { receivedTask, type Task, taskSchema } from "./task.ts";

/** Tries to read what goes along with a message: about a quarter of a minute. */
export const maxContextTries = 4;
/** Tries to upload a file, before the answer comes without it. */
const maxUploadTries = 4;
/**
 * Tries of everything else. Retries are a minute apart at most, so this is a day of trying; where Slack asks for longer waits
 * (a quarter of an hour is the longest that is obeyed), two weeks. The tries count, not the clock: time in which nothing ran is
 * no time in which Slack refused.
 */
export const maxSlackTries = 1440;

const internal = failed({ reason: "internal", lost: false });

type SlackFailed = Extract<TaskEvent, { type: "slack_failed" }>;
type Failure = { task: Task; again: Task; event: SlackFailed; isTerminal: boolean; isGivenUp: boolean; policy: Policy };

export function slackFailed({ task, event, policy }: { task: Task; event: SlackFailed; policy: Policy }): Step {
  // What Slack did not confirm may be there all the same.
  const again = markForReconcile({ ...task, attempts: task.attempts + 1 });
  const isTerminal = event.kind === "gone" || event.kind === "refused" || event.kind === "no_such_message";
  const isGivenUp = isTerminal || again.attempts >= maxSlackTries;
  const failure = { task, again, event, isTerminal, isGivenUp, policy };
  switch (event.act) {
    case "prepare":
      return prepareFailed(failure);
    case "ask_question":
      return questionFailed(failure);
    case "upload":
      return uploadFailed(failure);
    case "deliver":
      return deliveryFailed(failure);
    case "sweep":
      return isGivenUp ? { task: endCleanup(task), effects: [] } : waitFor(again, event.retryAfterMs);
    case "open_thread":
      // A command whose outcome is known gets its thread only for the delivery.
      return task.state === "delivering" ? deliveryFailed(failure) : announcementFailed(failure);
    default:
      return announcementFailed(failure);
  }
}

/** Nothing was sent anywhere yet. */
function announcementFailed({ task, again, event: { act, kind, retryAfterMs }, isGivenUp }: Failure): Step {
  if (!isGivenUp) return waitFor(again, retryAfterMs);
  if (act === "read_message") return setOutcome(task, { type: "unreadable" });
  // Blocks are what Slack is most particular about; a placeholder has some.
  if (kind === "refused" && task.mrkdwnFallback === undefined) return inPlainText(again);
  // Whether a message that does not mention the bot is for it is known once it has its place in the thread.
  const isNobodys = task.message.unaddressed === true && task.queuePosition === undefined;
  if (kind === "gone" || isNobodys) return giveUpDelivery(task);
  return setOutcome(task, internal, { reconcile: true });
}

/** The thread and the files are read before anything is sent. */
function prepareFailed({ task, again, event: { retryAfterMs }, isTerminal, policy }: Failure): Step {
  const isOver = isTerminal || again.attempts >= maxContextTries;
  return isOver ? withoutContext(task, policy) : waitFor(again, retryAfterMs);
}

/** A thread that cannot be read is no reason not to do what was asked; without its files the message is another one. */
function withoutContext(task: Task, policy: Policy): Step {
  const [file] = task.message.files ?? [];
  if (file !== undefined) return setOutcome(task, fileMissing(file));
  return { task: advance(withParams(task, { context: {}, policy }), {}), effects: [wake(0)] };
}

function questionFailed({ task, again, event: { kind, retryAfterMs }, isGivenUp }: Failure): Step {
  if (kind === "refused" && task.mrkdwnFallback === undefined) return inPlainText(again);
  // Nobody can be asked where nobody can post; what waits for an answer is not to wait in vain.
  return isGivenUp ? end(task, "unanswered") : waitFor(again, retryAfterMs);
}

function uploadFailed({ task, again, event: { retryAfterMs }, isGivenUp }: Failure): Step {
  const isOver = isGivenUp || again.attempts >= maxUploadTries;
  return isOver ? uploaded(task, { fileId: undefined }) : waitFor(again, retryAfterMs);
}

function deliveryFailed({ task, again, event: { kind, retryAfterMs }, isGivenUp }: Failure): Step {
  if (task.undelivered !== undefined) return giveUpDelivery(task);
  if (kind === "refused" && task.mrkdwnFallback === undefined) return inPlainText(again);
  // An answer that Slack does not take is told in words of ours.
  if (kind === "refused" && task.outcome?.type === "answer") {
    // Parts of the answer may be there.
    return setOutcome(task, { ...internal, insteadOfAnswer: true }, { reconcile: true });
  }
  if (kind === "gone") return giveUpDelivery(task);
  return isGivenUp ? lastText(task) : waitFor(again, retryAfterMs);
}

/** The thread is not looked at for it, and nothing is edited: whatever made the delivery fail is left out. */
function lastText(task: Task): Step {
  return { task: advance(task, { undelivered: "last_words" }), effects: [wake(0)] };
}

function inPlainText(task: Task): Step {
  return { task: { ...task, mrkdwnFallback: true }, effects: [wake(0)] };
}

function waitFor(task: Task, retryAfterMs: number | undefined): Step {
  return { task, effects: [wake(retryDelayMs(task.attempts, retryAfterMs))] };
}

// What follows when our own code fails on a task's data. Every try would fail again, so the task ends in words.

/**
 * An outcome that cannot be shown is replaced by words of ours, which depend on no data. Where even those fail, the delivery is
 * given up. Like a dead letter, a task that may be at work is canceled at its host.
 */
export function stepFailed(task: Task): Step {
  const { state, outcome, message, queuePosition } = task;
  // Whether a message that does not mention the bot is for it is not known before it has its place in the thread.
  if (state === "received" && message.unaddressed && queuePosition === undefined) return giveUpDelivery(task);
  if (state === "done") return { task: endCleanup(task), effects: [] };
  if (state === "delivering") {
    if (outcome?.type === "failed" && outcome.insteadOfAnswer) return giveUpDelivery(task);
    // Parts of the outcome may be there.
    return setOutcome(task, { ...internal, insteadOfAnswer: true }, { reconcile: true });
  }
  const mayRun = state === "sent" || state === "waiting" || state === "asking";
  // What was posted before is looked for.
  const step = setOutcome(task, internal, { reconcile: true });
  return mayRun ? { ...step, effects: [{ type: "cancel" }] } : step;
}

const { shape } = taskSchema;

/** Without these nobody knows where the words would go, or whether they are there. */
const coreSchema = taskSchema.pick({
  id: true,
  revision: true,
  expiresAtMs: true,
  wakeSeq: true,
  receivedAtMs: true,
  trace: true,
  message: true,
});

/** What helps to end it, as far as it can be read. */
const restSchema = z.object({
  state: shape.state.catch("received"),
  lease: shape.lease.catch(undefined),
  retryOf: shape.retryOf.catch(undefined),
  destination: shape.destination.catch(undefined),
  sessionId: shape.sessionId.catch(undefined),
  taskId: shape.taskId.catch(undefined),
  locale: shape.locale.catch(undefined),
  place: shape.place.catch(undefined),
  placeholderTs: shape.placeholderTs.catch(undefined),
  announcedAtMs: shape.announcedAtMs.catch(undefined),
  stream: shape.stream.catch(undefined),
  cleanupDone: shape.cleanupDone.catch(false),
  textsErased: shape.textsErased.catch(undefined),
});

/** As much of a record as can still be read, to end its task with. Undefined where nobody could be told. */
export function salvageTask(json: unknown): Task | undefined {
  const core = coreSchema.safeParse(json).data;
  const rest = restSchema.safeParse(json).data;
  if (core === undefined || rest === undefined) return undefined;
  const { id: requestId, receivedAtMs, trace, message } = core;
  const known = Object.fromEntries(Object.entries(rest).filter(([, member]) => member !== undefined));
  return { ...receivedTask({ type: "ask", requestId, receivedAtMs, trace, message }), ...known, ...core };
}
