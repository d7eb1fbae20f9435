/** The state `received`: the message is refused, taken as a reply or as a wish to cancel, or let in and announced in its thread. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { endCleanup, giveUpDelivery, needsThread, releaseThread } from "./delivering.ts";
import type { EventOf } from "./events.ts";
import { requestThreadPlace, startDeadline } from "./queued.ts";
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

/** Whether the person may ask is found out at each try: a rule may have changed meanwhile. */
export function onWokenReceived(task: Task, { resumed }: EventOf<"woken">): Transition {
  return { task: resumed ? markForReconcile(task) : task, effects: [{ type: "permit" }] };
}

/** A person who may not ask is told where nobody else reads it. A person who did not speak to the bot is told nothing. */
export function onPermitted(task: Task, { allowed, locale, nowMs }: EventOf<"permitted">, policy: Policy): Transition {
  const { message } = task;
  const known = { ...task, locale };
  if (!allowed) return message.unaddressed ? ignore(known) : turnAway(known, { type: "refused" });
  // Whether the bot is to answer a message that does not mention it is found out first.
  if (isOutdated(task, nowMs) && !message.unaddressed) return setOutcome(known, { type: "too_old" });
  if (isCancelWord(message.text)) return { task: known, effects: [{ type: "cancel_thread" }] };
  if (task.retryOf !== undefined && message.text === "") return { task: known, effects: [{ type: "read_message" }] };
  const { threadTs, command } = message;
  if (threadTs === undefined || command) return acceptMessage(known, { nowMs, policy });
  // In a thread it may be what the thread waits for.
  return { task: known, effects: [{ type: "give_reply", reconcile: known.reconcile === true }] };
}

/** A message in a thread that waits for an answer is none but that answer: never a new task behind it. */
export function onReplyGiven(task: Task, { verdict, nowMs }: EventOf<"reply_given">, policy: Policy): Transition {
  const isSilent = task.message.unaddressed === true;
  if (verdict === "taken") return ignore(task);
  if (verdict === "none")
    return isSilent && !policy.threadReplies ? ignore(task) : acceptMessage(task, { nowMs, policy });
  if (isSilent) return ignore(task);
  if (verdict === "not_yours") return turnAway(task, { type: "not_yours" });
  return turnAway(task, failedOutcome({ reason: "invalid_params", lost: false }));
}

/** What is to be tried again has its text, as it reads now. */
export function onMessageRead(task: Task, { text, nowMs }: EventOf<"message_read">, policy: Policy): Transition {
  if (text === undefined) return setOutcome(task, { type: "unreadable" });
  if (isCancelWord(text)) return { task, effects: [{ type: "cancel_thread" }] };
  if (task.message.unaddressed && !policy.threadReplies) return ignore(task);
  return acceptMessage({ ...task, message: { ...task.message, text } }, { nowMs, policy });
}

/** It says what is to be done, or it is told that it does not; then it counts. */
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
  if (!needsThread(task)) return requestThreadPlace(task, policy);
  const { reconcile = false } = task;
  return { task, effects: [{ type: "open_thread", privately: policy.commandsPrivately, reconcile }] };
}

/** The deadline counts from now on if nobody is before it. */
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
  // One that waits looks once more at once: the one before it may have left meanwhile, and knew of nobody to tell.
  return { task: advance(task, { placeholder: { ts, postedAtMs: nowMs }, state }), effects: [wake(0)] };
}

/**
 * The wish to cancel has gone to the tasks of its thread. Where there was none, and nobody was spoken to, nobody answers. A wish that
 * meets nothing new is no news for others. An earlier try of this one may have met it: then it is answered in the thread.
 */
export function onThreadCanceled(task: Task, { count, isRepeated }: EventOf<"thread_canceled">): Transition {
  if (count === 0 && task.message.unaddressed) return ignore(task);
  const isNews = (count > 0 && !isRepeated) || task.reconcile === true;
  return (isNews ? setOutcome : turnAway)(task, { type: "canceling", count });
}

/** An earlier try may have announced it: what that left in the thread is cleaned up. */
export function onRefusalShown(task: Task): Transition {
  return releaseThread(advance(task.reconcile ? task : endCleanup(task), { state: "done" }));
}

/** Nothing was sent anywhere yet. */
export function onSlackFailedReceived(task: Task, event: EventOf<"slack_failed">): Transition {
  const { again, isGivenUp } = countSlackFailure(task, event);
  if (!isGivenUp) return retrySlack(again, event);
  if (event.act === "read_message") return setOutcome(task, { type: "unreadable" });
  // A placeholder has blocks.
  if (event.kind === "refused" && task.mrkdwnFallback === undefined) return fallBackToMrkdwn(again);
  if (event.kind === "gone" || isPerhapsForNobody(task)) return giveUpDelivery(task);
  return setOutcome(task, internalOutcome, { reconcile: true });
}

/** Whether a message that does not mention the bot is for it is known once it has its place in the thread. */
export function isPerhapsForNobody({ message, queuePosition }: Task): boolean {
  return message.unaddressed === true && queuePosition === undefined;
}

/** The message becomes no task. Its writer alone is told why, at most once in a while (`gate/refusals.ts`). */
function turnAway(task: Task, outcome: TaskOutcome): Transition {
  return { task: { ...task, outcome }, effects: [{ type: "refuse" }] };
}

/**
 * There is nothing to be said, or it is said elsewhere. An earlier try may have taken it for a task: what that left in the
 * thread is cleaned up.
 */
function ignore(task: Task): Transition {
  if (task.reconcile) return releaseThread(advance(task, { state: "done" }));
  return { task: advance(endCleanup(task), { state: "done" }), effects: [] };
}

/** Normalizing a long text of combining marks takes time that grows with the square of its length. */
const maxCancelWordLength = 60;

/**
 * Whether the text is the word by which a person ends what a thread waits for: alone in the message, in any case and width, with
 * or without emphasis or an end of sentence.
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
