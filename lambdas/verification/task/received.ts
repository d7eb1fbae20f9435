/** What becomes of a message before anything is sent: refused, taken as an answer or a wish to cancel, or given its place in its thread. */
import { maxTextLength } from "../../../contracts/limits.ts";
import type { Context, TaskEvent } from "./events.ts";
import type { AskedFile } from "./messages.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { directed } from "./routing.ts";
import {
  advance,
  endCleanup,
  failed,
  graceMs,
  isTooOld,
  markForReconcile,
  maxAgeMs,
  releaseThread,
  type Step,
  setOutcome,
  wake,
} from "./step.ts";
import type { Outcome, Task } from "./task.ts";

/** What a task may take beyond its deadline to bring its answer into the thread, before the next one begins all the same. */
export const deliveryMs = 60_000;

type Event<E extends TaskEvent["type"]> = Extract<TaskEvent, { type: E }>;

/** Whether the person may ask is found out at each try: a rule may have changed meanwhile. */
export function received({ task, resumed }: { task: Task; resumed: boolean }): Step {
  return { task: resumed ? markForReconcile(task) : task, effects: [{ type: "permit" }] };
}

/** A person who may not ask is told where nobody else reads it. A person who did not speak to the bot is told nothing. */
export function permitted(
  task: Task,
  { event: { allowed, locale, nowMs }, policy }: { event: Event<"permitted">; policy: Policy },
): Step {
  const { message } = task;
  const known = { ...task, locale };
  if (!allowed) return message.unaddressed ? ignored(known) : turnedAway(known, { type: "refused" });
  // Whether the bot is to answer a message that does not mention it is found out first.
  if (isOutdated(task, nowMs) && !message.unaddressed) return setOutcome(known, { type: "too_old" });
  if (isCancelWord(message.text)) return { task: known, effects: [{ type: "cancel_thread" }] };
  if (task.retryOf !== undefined && message.text === "") return { task: known, effects: [{ type: "read_message" }] };
  return enter(known, { nowMs, policy });
}

/** The message becomes no task. Its writer alone is told why, at most once in a while (`gate/refusals.ts`). */
function turnedAway(task: Task, outcome: Outcome): Step {
  return { task: { ...task, outcome }, effects: [{ type: "refuse" }] };
}

/** An earlier try may have announced it: what that left in the thread is cleaned up. */
export function refusalTold(task: Task): Step {
  return releaseThread(advance(task.reconcile ? task : endCleanup(task), { state: "done" }));
}

/** The text is there. In a thread it may be what the thread waits for. */
function enter(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const { threadTs, command } = task.message;
  if (threadTs === undefined || command) return accepted(task, { nowMs, policy });
  return { task, effects: [{ type: "give_answer", reconcile: task.reconcile === true }] };
}

/** A message in a thread that waits for an answer is none but that answer: never a new task behind it. */
export function answerGiven(
  task: Task,
  { event: { verdict, nowMs }, policy }: { event: Event<"answer_given">; policy: Policy },
): Step {
  const isSilent = task.message.unaddressed === true;
  if (verdict === "taken") return ignored(task);
  if (verdict === "none") return isSilent && !policy.threadReplies ? ignored(task) : accepted(task, { nowMs, policy });
  if (isSilent) return ignored(task);
  const isOthers = verdict === "not_yours";
  return turnedAway(task, isOthers ? { type: "not_yours" } : failed({ reason: "invalid_params", lost: false }));
}

/** It says what is to be done, or it is told that it does not; then it counts. */
function accepted(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const { text, files = [] } = task.message;
  if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
  if (text === "" && files.length === 0) return turnedAway(task, failed({ reason: "invalid_params", lost: false }));
  if (text.length > maxTextLength) return turnedAway(task, failed({ reason: "payload_too_large", lost: false }));
  const going = directed(task, policy);
  if (going === undefined) return turnedAway(task, failed({ reason: "agent_not_found", lost: false }));
  const untilMs = nowMs + maxAgeMs + destinationOf(going, policy).deadlineMs;
  return { task: going, effects: [{ type: "charge", untilMs }] };
}

export function charged(task: Task, { event: { over }, policy }: { event: Event<"charged">; policy: Policy }): Step {
  if (over !== undefined) return turnedAway(task, { type: "limited", ...over });
  if (!needsThread(task)) return joinThread(task, policy);
  const { reconcile = false } = task;
  return { task, effects: [{ type: "open_thread", privately: policy.commandsPrivately, reconcile }] };
}

/** A slash command leaves no message that could be answered. */
export function needsThread({ message, place }: Task): boolean {
  return message.command === true && place === undefined;
}

/** Everything goes there from now on, follow-ups too. */
export function threadOpened(task: Task, { place }: Event<"thread_opened">): Task {
  return { ...task, place, thread: `${place.channel}/${place.threadTs}` };
}

/** A task that was announced already has a placeholder, which becomes the answer. */
export function threadFull(task: Task): Step {
  const outcome = failed({ reason: "rate_limited", lost: false });
  return task.state === "received" ? turnedAway(task, outcome) : setOutcome(task, outcome);
}

/** On its way to its destination, it is given its place in its thread; where it cannot go anywhere, that is told. */
export function joinThread(unrouted: Task, policy: Policy): Step {
  const task = directed(unrouted, policy);
  if (task === undefined) return setOutcome(unrouted, failed({ reason: "agent_not_found", lost: false }));
  const { deadlineMs, concurrency } = destinationOf(task, policy);
  const turnMs = deadlineMs + graceMs + deliveryMs;
  return { task, effects: [{ type: "line_up", turnMs, parallel: concurrency === "parallel" }] };
}

/** Nobody is before it any more: from now on its time counts. */
export function begin(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  return { ...task, deadlineAtMs: nowMs + destinationOf(task, policy).deadlineMs };
}

/** Whether there may be more to send along than the message's text. */
export function hasContext({ message: { threadTs, command, files = [] } }: Task): boolean {
  return (threadTs !== undefined && !command) || files.length > 0;
}

/** A message is executed with all of its files or refused in words: with one missing it would be another message, or none at all. */
export function prepared(
  task: Task,
  { event: { context }, policy }: { event: Event<"prepared">; policy: Policy },
): Step {
  const attached = new Set(context.attachments?.map(({ id }) => id));
  const missing = task.message.files?.find(({ id }) => !attached.has(id));
  if (missing !== undefined) return setOutcome(task, fileMissing(missing));
  return { task: withParams(task, { context, policy }), effects: [wake(0)] };
}

export function fileMissing({ name }: AskedFile): Outcome {
  return { type: "file_refused", why: "not_to_be_had", name };
}

/** What will be sent, which stays as it is. */
export function withParams(task: Task, { context, policy }: { context: Context; policy: Policy }): Task {
  const { message, sessionId, id, place } = task;
  const threadTs = place?.threadTs ?? message.threadTs;
  const { history = [], attachments = [] } = context;
  return {
    ...task,
    params: {
      channel: message.channel,
      text: message.text,
      ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
      team_id: message.team,
      user_id: message.user,
      correlation_id: id,
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(history.length === 0 ? {} : { history }),
      session_id: sessionId,
      timeout_ms: destinationOf(task, policy).deadlineMs,
      callback: true,
    },
  };
}

/** What is to be tried again has its text, as it reads now. */
export function messageRead(
  task: Task,
  { event: { text, nowMs }, policy }: { event: Event<"message_read">; policy: Policy },
): Step {
  if (text === undefined) return setOutcome(task, { type: "unreadable" });
  if (isCancelWord(text)) return { task, effects: [{ type: "cancel_thread" }] };
  if (task.message.unaddressed && !policy.threadReplies) return ignored(task);
  return accepted({ ...task, message: { ...task.message, text } }, { nowMs, policy });
}

/**
 * The wish to cancel has gone to the tasks of its thread. Where there was none, and nobody was spoken to, nobody answers. A wish that
 * meets nothing new is no news for others. An earlier try of this one may have met it: then it is answered in the thread.
 */
export function threadCanceled(task: Task, { count, isRepeated }: Event<"thread_canceled">): Step {
  if (count === 0 && task.message.unaddressed) return ignored(task);
  const isNews = (count > 0 && !isRepeated) || task.reconcile === true;
  return (isNews ? setOutcome : turnedAway)(task, { type: "canceling", count });
}

/** Of an operator's retry the age counts from the operator's wish. */
export function isOutdated({ message, receivedAtMs, retryOf }: Task, nowMs: number): boolean {
  const ts = retryOf === undefined ? message.ts : String(receivedAtMs / 1000);
  return isTooOld({ ts, receivedAtMs, nowMs });
}

/**
 * There is nothing to be said, or it is said elsewhere. An earlier try may have taken it for a task: what that left in the
 * thread is cleaned up.
 */
function ignored(task: Task): Step {
  if (task.reconcile) return releaseThread(advance(task, { state: "done" }));
  return { task: advance(endCleanup(task), { state: "done" }), effects: [] };
}

// The word by which a person ends what a thread waits for.

/** Normalizing a long text of combining marks takes time that grows with the square of its length. */
const maxCancelWordLength = 60;

/** Alone in the message, in any case and width, with or without emphasis or an end of sentence. */
export function isCancelWord(text: string): boolean {
  const written = text.trim();
  if (written.length > maxCancelWordLength) return false;
  const plain = written
    .normalize("NFKC")
    .replace(/[*_~`]/g, "")
    .trim();
  return /^(cancel|キャンセル|取り?消し?|中止)(\.{1,3}|[!。])?$/i.test(plain);
}
