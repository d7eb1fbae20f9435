/** What becomes of a message before anything is sent: refused, taken as a wish to cancel, or given its place in its thread. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { isTooOld } from "../gate/age.ts";
import { isCancelWord } from "../gate/cancel-word.ts";
import type { TaskEvent } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { sessionIdOf } from "./session-id.ts";
import { advance, conclude, failed, forget, graceMs, type Step } from "./step.ts";
import type { Task } from "./task.ts";

/** What a task may take beyond its deadline to bring its answer into the thread, before the next one begins all the same. */
const deliveryMs = 60_000;

type Moment = { nowMs: number; heal: boolean };

export function received({ task, policy, nowMs, heal }: { task: Task; policy: Policy } & Moment): Step {
  const { message } = task;
  if (isOutdated(task, nowMs)) return conclude(task, { type: "too_old" });
  const isCancel = message.threadTs !== undefined && isCancelWord(message.text);
  if (!policy.isAllowed(message)) return isCancel && message.unaddressed ? ignored(task) : refused(task);
  if (isCancel) return { task, effects: [{ type: "cancel_thread" }] };
  if (task.retryOf !== undefined && message.text === "") return { task, effects: [{ type: "read_message" }] };
  // A bare mention, or a file without a word (attachments do not travel yet): there is nothing to do.
  if (message.text === "") return conclude(task, failed({ reason: "invalid_params", lost: false }));
  if (message.text.length > maxTextLength) return conclude(task, failed({ reason: "payload_too_large", lost: false }));
  const name = task.destination ?? policy.routeOf(message);
  if (name === undefined || !policy.destinations.has(name)) {
    return conclude(task, failed({ reason: "agent_not_found", lost: false }));
  }
  const { stopAfterResult } = destinationOf({ ...task, destination: name }, policy);
  const sessionId = sessionIdOf({ message, perTask: stopAfterResult ? task.id : undefined });
  return lineUp({ ...task, destination: name, sessionId, attempts: heal ? Math.max(1, task.attempts) : 0 }, policy);
}

export function lineUp(task: Task, policy: Policy): Step {
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

/** The wish to cancel has gone to the tasks of its thread. Where there was none, and nobody was spoken to, nobody answers. */
export function threadCanceled(task: Task, { count }: Extract<TaskEvent, { type: "thread_canceled" }>): Step {
  return count === 0 && task.message.unaddressed ? ignored(task) : conclude(task, { type: "canceling", count });
}

/** Of an operator's retry the age counts from the operator's wish. */
export function isOutdated({ message, receivedAtMs, retryOf }: Task, nowMs: number): boolean {
  const ts = retryOf === undefined ? message.ts : String(receivedAtMs / 1000);
  return isTooOld({ ts, receivedAtMs, nowMs });
}

function refused(task: Task): Step {
  return conclude(task, { type: "refused" });
}

function ignored(task: Task): Step {
  return { task: advance(forget(task), { state: "done" }), effects: [] };
}
