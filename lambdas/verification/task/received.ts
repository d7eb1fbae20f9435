/** The state `received`: the message is refused, taken as a reply or as a request to cancel, or accepted and announced in its thread. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { endCleanup, giveUpDelivery, needsThread, releaseThread } from "./delivering.ts";
import type { EventOf } from "./events.ts";
import { requestThreadPosition, startDeadline } from "./queued.ts";
import { chooseDestination, destinationOf, type Policy } from "./routing.ts";
import {
  advance,
  countSlackFailure,
  failedOutcome,
  fallBackToMrkdwn,
  internalOutcome,
  isOutdated,
  markForReconcile,
  maxAgeMs,
  retrySlack,
  setOutcome,
  type Transition,
  wake,
} from "./step.ts";
import type { Task, TaskOutcome } from "./task.ts";

/** Checks the permission at each try, because the rules may have changed. */
export function onWokenReceived(task: Task, { resumed }: EventOf<"woken">): Transition {
  return { task: resumed ? markForReconcile(task) : task, effects: [{ type: "permit" }] };
}

/** A person who may not ask gets a private refusal, unless the message did not mention the bot. */
export function onPermitted(task: Task, { allowed, locale, nowMs }: EventOf<"permitted">, policy: Policy): Transition {
  const { message } = task;
  const known = { ...task, locale };
  if (!allowed) return message.unaddressed ? ignore(known) : turnAway(known, { type: "refused" });
  // A message that does not mention the bot may not be for it: it must not be called too old before that is known.
  if (isOutdated(task, nowMs) && !message.unaddressed) return setOutcome(known, { type: "too_old" });
  if (isCancelWord(message.text)) return { task: known, effects: [{ type: "cancel_thread" }] };
  if (task.retryOf !== undefined && message.text === "") return { task: known, effects: [{ type: "read_message" }] };
  const { threadTs, command } = message;
  if (threadTs === undefined || command) return acceptMessage(known, { nowMs, policy });
  // In a thread the message may reply to a question.
  return { task: known, effects: [{ type: "give_reply", reconcile: known.reconcile === true }] };
}

/** In a thread that waits for an answer, the message is that answer and never a new task. */
export function onReplyGiven(task: Task, { decision, nowMs }: EventOf<"reply_given">, policy: Policy): Transition {
  const isSilent = task.message.unaddressed === true;
  if (decision === "taken") return ignore(task);
  if (decision === "none")
    return isSilent && !policy.threadReplies ? ignore(task) : acceptMessage(task, { nowMs, policy });
  if (isSilent) return ignore(task);
  if (decision === "not_yours") return turnAway(task, { type: "not_yours" });
  return turnAway(task, failedOutcome({ reason: "invalid_params", lost: false }));
}

/** The text of the message that an operator retries, as it reads now. */
export function onMessageRead(task: Task, { text, nowMs }: EventOf<"message_read">, policy: Policy): Transition {
  if (text === undefined) return setOutcome(task, { type: "unreadable" });
  if (isCancelWord(text)) return { task, effects: [{ type: "cancel_thread" }] };
  if (task.message.unaddressed && !policy.threadReplies) return ignore(task);
  return acceptMessage({ ...task, message: { ...task.message, text } }, { nowMs, policy });
}

/** Accepts the message as a task: checks age, text and destination, then counts it in the quotas. */
function acceptMessage(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Transition {
  const { text, files = [] } = task.message;
  if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
  if (text === "" && files.length === 0)
    return turnAway(task, failedOutcome({ reason: "invalid_params", lost: false }));
  if (text.length > maxTextLength) return turnAway(task, failedOutcome({ reason: "payload_too_large", lost: false }));
  const directed = chooseDestination(task, policy);
  if (directed === undefined) return turnAway(task, failedOutcome({ reason: "agent_not_found", lost: false }));
  const untilMs = nowMs + maxAgeMs + destinationOf(directed, policy).deadlineMs;
  return { task: directed, effects: [{ type: "charge", untilMs }] };
}

export function onCharged(task: Task, { over }: EventOf<"charged">, policy: Policy): Transition {
  if (over !== undefined) return turnAway(task, { type: "limited", ...over });
  if (!needsThread(task)) return requestThreadPosition(task, policy);
  const { reconcile = false } = task;
  return { task, effects: [{ type: "open_thread", privately: policy.commandsPrivately, reconcile }] };
}

/** The deadline counts from now on if no task is before this one. */
export function onThreadJoined(
  task: Task,
  { queuePosition, nowMs }: EventOf<"thread_joined">,
  policy: Policy,
): Transition {
  const placed = { ...task, queuePosition };
  return {
    task: queuePosition === 0 ? startDeadline(placed, { nowMs, policy }) : placed,
    effects: [{ type: "announce", reconcile: task.reconcile === true }],
  };
}

export function onThreadFull(task: Task): Transition {
  return turnAway(task, failedOutcome({ reason: "rate_limited", lost: false }));
}

export function onAnnounced(task: Task, { ts, nowMs }: EventOf<"announced">): Transition {
  const state = task.queuePosition === 0 ? "announced" : "queued";
  // A waiting task looks again at once: the task before it may have left meanwhile, when no task was waiting yet.
  return { task: advance(task, { placeholder: { ts, postedAtMs: nowMs }, state }), effects: [wake(0)] };
}

/**
 * The tasks of the thread were asked to end. Without any, a message that does not mention the bot gets no answer. Where an earlier
 * message had canceled them already, only the writer is told. An earlier try of this message may have canceled them: then the answer
 * goes in the thread.
 */
export function onThreadCanceled(task: Task, { count, isRepeated }: EventOf<"thread_canceled">): Transition {
  if (count === 0 && task.message.unaddressed) return ignore(task);
  const isNews = (count > 0 && !isRepeated) || task.reconcile === true;
  return (isNews ? setOutcome : turnAway)(task, { type: "canceling", count });
}

/** An earlier try may have posted a placeholder: that one is cleaned up. */
export function onRefusalShown(task: Task): Transition {
  return releaseThread(advance(task.reconcile ? task : endCleanup(task), { state: "done" }));
}

/** A Slack call failed before anything was sent to the Execution zone. */
export function onSlackFailedReceived(task: Task, event: EventOf<"slack_failed">): Transition {
  const { again, isGivenUp } = countSlackFailure(task, event);
  if (!isGivenUp) return retrySlack(again, event);
  if (event.act === "read_message") return setOutcome(task, { type: "unreadable" });
  // Slack may have refused the placeholder's blocks.
  if (event.kind === "refused" && task.mrkdwnFallback === undefined) return fallBackToMrkdwn(again);
  if (event.kind === "gone" || isPerhapsForNobody(task)) return giveUpDelivery(task);
  return setOutcome(task, internalOutcome, { reconcile: true });
}

/** Whether it is still unknown that the message is for the bot: it does not mention the bot, and has no position in its thread yet. */
export function isPerhapsForNobody({ message, queuePosition }: Task): boolean {
  return message.unaddressed === true && queuePosition === undefined;
}

/** Refuses the message. Its writer alone is told why, within the limits of `gate/refusals.ts`. */
function turnAway(task: Task, outcome: TaskOutcome): Transition {
  return { task: { ...task, outcome }, effects: [{ type: "refuse" }] };
}

/**
 * Ends the task without an answer. An earlier try may have accepted the message as a task: what that posted is cleaned up.
 */
function ignore(task: Task): Transition {
  if (task.reconcile) return releaseThread(advance(task, { state: "done" }));
  return { task: advance(endCleanup(task), { state: "done" }), effects: [] };
}

/** A longer text is not checked: normalizing combining marks takes time that grows with the square of the length. */
const maxCancelWordLength = 60;

/**
 * Whether the text is the word that cancels the tasks of a thread: alone in the message, in any case and width, with or without
 * emphasis or an end of sentence.
 */
export function isCancelWord(text: string): boolean {
  const written = text.trim();
  if (written.length > maxCancelWordLength) return false;
  const plain = written
    .normalize("NFKC")
    .replace(/[*_~`]/g, "")
    .trim();
  return /^(cancel|キャンセル|取り?消し?|中止)(\.{1,3}|[!。])?$/i.test(plain);
}
