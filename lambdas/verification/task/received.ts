/** What becomes of a message before anything is sent: refused, taken as an answer or a wish to cancel, or given its place in its thread. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { isTooOld, maxAgeMs } from "../gate/age.ts";
import { isCancelWord } from "../gate/cancel-word.ts";
import type { Context, TaskEvent } from "./events.ts";
import { directed } from "./failover.ts";
import type { AskedFile } from "./messages.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { advance, conclude, failed, forget, graceMs, leaving, type Step, wake } from "./step.ts";
import type { Outcome, Task } from "./task.ts";

/** What a task may take beyond its deadline to bring its answer into the thread, before the next one begins all the same. */
export const deliveryMs = 60_000;

type Event<E extends TaskEvent["type"]> = Extract<TaskEvent, { type: E }>;

/** Whether the person may ask is found out at each try: a rule may have changed meanwhile. */
export function received({ task, nowMs, heal }: { task: Task; nowMs: number; heal: boolean }): Step {
  // Whether the bot is to answer a message that does not mention it is found out first.
  if (isOutdated(task, nowMs) && !task.message.unaddressed) return conclude(task, { type: "too_old" });
  return { task: { ...task, attempts: heal ? Math.max(1, task.attempts) : 0 }, effects: [{ type: "permit" }] };
}

/** Who may not ask and did not speak to the bot hears nothing of it. */
export function permitted(
  task: Task,
  { event: { allowed, locale, nowMs }, policy }: { event: Event<"permitted">; policy: Policy },
): Step {
  const { message } = task;
  const known = { ...task, locale };
  if (!allowed) return message.unaddressed ? ignored(known) : conclude(known, { type: "refused" });
  if (isCancelWord(message.text)) return { task: known, effects: [{ type: "cancel_thread" }] };
  if (task.retryOf !== undefined && message.text === "") return { task: known, effects: [{ type: "read_message" }] };
  return enter(known, { nowMs, policy });
}

/** The text is there. In a thread it may be what the thread waits for. */
function enter(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const { threadTs, command } = task.message;
  if (threadTs === undefined || command) return accepted(task, { nowMs, policy });
  return { task, effects: [{ type: "give_answer", heal: task.attempts > 0 }] };
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
  return conclude(task, isOthers ? { type: "not_yours" } : failed({ reason: "invalid_params", lost: false }));
}

/** It says what is to be done, or it is told that it does not; then it counts. */
function accepted(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Step {
  const { text, files = [] } = task.message;
  if (isOutdated(task, nowMs)) return conclude(task, { type: "too_old" });
  if (text === "" && files.length === 0) return conclude(task, failed({ reason: "invalid_params", lost: false }));
  if (text.length > maxTextLength) return conclude(task, failed({ reason: "payload_too_large", lost: false }));
  const going = directed(task, policy);
  if (going === undefined) return conclude(task, failed({ reason: "agent_not_found", lost: false }));
  const untilMs = nowMs + maxAgeMs + destinationOf(going, policy).deadlineMs;
  return { task: going, effects: [{ type: "charge", untilMs }] };
}

export function charged(task: Task, { event: { over }, policy }: { event: Event<"charged">; policy: Policy }): Step {
  // Whoever did not speak to the bot is told where nobody else reads it.
  if (over !== undefined)
    return task.message.unaddressed ? ignored(task) : conclude(task, { type: "limited", ...over });
  if (!needsThread(task)) return lineUp(task, policy);
  return { task, effects: [{ type: "open_thread", privately: policy.commandsPrivately, heal: task.attempts > 0 }] };
}

/** A slash command leaves no message that could be answered. */
export function needsThread({ message, place }: Task): boolean {
  return message.command === true && place === undefined;
}

/** Everything goes there from now on, follow-ups too. */
export function threadOpened(task: Task, { place }: Event<"thread_opened">): Task {
  return { ...task, place, thread: `${place.channel}/${place.threadTs}` };
}

/** On its way to its destination, it is given its place in its thread; where it cannot go anywhere, that is told. */
export function lineUp(unrouted: Task, policy: Policy): Step {
  const task = directed(unrouted, policy);
  if (task === undefined) return conclude(unrouted, failed({ reason: "agent_not_found", lost: false }));
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
  if (missing !== undefined) return conclude(task, fileMissing(missing));
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
  if (text === undefined) return conclude(task, { type: "unreadable" });
  if (isCancelWord(text)) return { task, effects: [{ type: "cancel_thread" }] };
  if (task.message.unaddressed && !policy.threadReplies) return ignored(task);
  return accepted({ ...task, message: { ...task.message, text } }, { nowMs, policy });
}

/** The wish to cancel has gone to the tasks of its thread. Where there was none, and nobody was spoken to, nobody answers. */
export function threadCanceled(task: Task, { count }: Event<"thread_canceled">): Step {
  return count === 0 && task.message.unaddressed ? ignored(task) : conclude(task, { type: "canceling", count });
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
  if (task.attempts > 0) return leaving(advance(task, { state: "done" }));
  return { task: advance(forget(task), { state: "done" }), effects: [] };
}
