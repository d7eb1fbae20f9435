/** What becomes of a message before anything is sent: refused, taken as a wish to cancel, or given its place in its thread. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { isTooOld } from "../gate/age.ts";
import { isCancelWord } from "../gate/cancel-word.ts";
import type { TaskEvent } from "./events.ts";
import { directed } from "./failover.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { advance, conclude, failed, forget, graceMs, type Step } from "./step.ts";
import type { Task } from "./task.ts";

/** What a task may take beyond its deadline to bring its answer into the thread, before the next one begins all the same. */
const deliveryMs = 60_000;

export function received({
  task,
  policy,
  nowMs,
  heal,
}: {
  task: Task;
  policy: Policy;
  nowMs: number;
  heal: boolean;
}): Step {
  const { message } = task;
  const isCancel = isCancelWord(message.text);
  if (message.unaddressed && !(isCancel && policy.isAllowed(message) && !isOutdated(task, nowMs))) return ignored(task);
  if (isOutdated(task, nowMs)) return conclude(task, { type: "too_old" });
  if (!policy.isAllowed(message)) return conclude(task, { type: "refused" });
  if (isCancel) return { task, effects: [{ type: "cancel_thread" }] };
  const begun = { ...task, attempts: heal ? Math.max(1, task.attempts) : 0 };
  if (task.retryOf !== undefined && message.text === "") return { task: begun, effects: [{ type: "read_message" }] };
  return enter(begun, policy);
}

/** The text is there, and says what is to be done, or it is told that it cannot be. */
function enter(task: Task, policy: Policy): Step {
  const { text } = task.message;
  // A bare mention, or a file without a word (attachments do not travel yet): there is nothing to do.
  if (text === "") return conclude(task, failed({ reason: "invalid_params", lost: false }));
  if (text.length > maxTextLength) return conclude(task, failed({ reason: "payload_too_large", lost: false }));
  return lineUp(task, policy);
}

/** On its way to its destination, it is given its place in its thread; where it cannot go anywhere, that is told. */
export function lineUp(unrouted: Task, policy: Policy): Step {
  const task = directed(unrouted, policy);
  if (task === undefined) return conclude(unrouted, failed({ reason: "agent_not_found", lost: false }));
  const { deadlineMs, concurrency } = destinationOf(task, policy);
  const turnMs = deadlineMs + graceMs + deliveryMs;
  return { task, effects: [{ type: "line_up", turnMs, parallel: concurrency === "parallel" }] };
}

/** Nobody is before it any more: from now on its time counts, and what will be sent stays as it is. */
export function begin(task: Task, { nowMs, policy }: { nowMs: number; policy: Policy }): Task {
  const { message, sessionId, id } = task;
  const { deadlineMs } = destinationOf(task, policy);
  return {
    ...task,
    deadlineAtMs: nowMs + deadlineMs,
    params: {
      channel: message.channel,
      text: message.text,
      ...(message.threadTs === undefined ? {} : { thread_ts: message.threadTs }),
      team_id: message.team,
      user_id: message.user,
      correlation_id: id,
      session_id: sessionId,
      timeout_ms: deadlineMs,
      callback: true,
    },
  };
}

/** What is to be tried again has its text, as it reads now. */
export function messageRead(
  task: Task,
  { event: { text }, policy }: { event: Extract<TaskEvent, { type: "message_read" }>; policy: Policy },
): Step {
  if (text === undefined) return conclude(task, { type: "unreadable" });
  if (isCancelWord(text)) return { task, effects: [{ type: "cancel_thread" }] };
  return enter({ ...task, message: { ...task.message, text } }, policy);
}

/** The wish to cancel has gone to the tasks of its thread. Where there was none, and nobody was spoken to, nobody answers. */
export function threadCanceled(task: Task, { count }: Extract<TaskEvent, { type: "thread_canceled" }>): Step {
  return count === 0 && task.message.unaddressed ? ignored(task) : conclude(task, { type: "canceling", count });
}

/** Of an operator's retry the age counts from the operator's wish. */
export function isOutdated({ message, receivedAtMs, retryOf }: Task, nowMs: number): boolean {
  const ts = retryOf === undefined ? message.ts : String(receivedAtMs / 1000);
  return isTooOld({ ts, receivedAtMs, nowMs });
}

/** Nobody was spoken to, so nobody answers. */
export function ignored(task: Task): Step {
  return { task: advance(forget(task), { state: "done" }), effects: [] };
}
