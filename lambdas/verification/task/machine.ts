/** The task machine: what a task does next. A pure function of the record and one event; the interpreter runs its effects. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { isTooOld } from "../gate/age.ts";
import { callFailed } from "./call-failures.ts";
import { pollDelayMs } from "./delays.ts";
import type { TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { sessionIdOf } from "./session-id.ts";
import { slackFailed } from "./slack-failures.ts";
import { advance, conclude, failed, forget, graceMs, isPastDeadline, type Step, stopSession, wake } from "./step.ts";
import type { Task } from "./task.ts";

type Given<E extends TaskEvent["type"]> = { task: Task; event: Extract<TaskEvent, { type: E }>; policy: Policy };

/** A post that timed out lands within a minute or never. */
const sweepAfterMs = 120_000;
const afterDeadLetterMs = 5 * 60_000;

/** The next record and what to do. The record is to be stored before the act is begun. */
export function next({ task, event, policy }: { task: Task; event: TaskEvent; policy: Policy }): Step {
  switch (event.type) {
    case "woken":
      return woken({ task, event, policy });
    case "announced":
      return {
        task: advance(task, { state: "announced", placeholderTs: event.ts, announcedAtMs: event.nowMs }),
        effects: [wake(0)],
      };
    case "answered":
      return answered({ task, event, policy });
    case "call_failed":
      return callFailed({ task, event, policy });
    case "canceled":
      if (task.state === "delivering") return { task, effects: [wake(0)] };
      return conclude(task, failed({ reason: "timeout", lost: false }));
    case "delivered":
      return {
        task: advance(task, { state: "done" }),
        effects: [...stopSession(task, policy), wake(sweepAfterMs)],
      };
    case "swept":
      return { task: forget(task), effects: [] };
    case "slack_failed":
      return slackFailed({ task, event, policy });
    case "dead_lettered":
      return deadLettered(task);
    case "redriven":
      return redriven({ task, event, policy });
  }
}

function woken({ task, event, policy }: Given<"woken" | "redriven">): Step {
  const { nowMs, resumed } = event;
  const heal = resumed || task.attempts > 0;
  switch (task.state) {
    case "received":
      return received({ task, event, policy, heal });
    case "announced":
      if (isPastDeadline(task, nowMs)) return conclude(task, failed({ reason: "timeout", lost: false }));
      return { task: advance(task, { state: "sent" }), effects: [{ type: "send" }] };
    case "sent": {
      // In doubt it is looked up before anything is sent again, however late it is: the agent may be at work.
      const inDoubt = resumed || task.mayHaveArrived;
      if (inDoubt) return { task: { ...task, mayHaveArrived: true }, effects: [{ type: "poll", by: "request_id" }] };
      if (isPastDeadline(task, nowMs)) return conclude(task, failed({ reason: "timeout", lost: false }));
      return { task, effects: [{ type: "send" }] };
    }
    case "waiting":
      if (task.expired || isPastDeadline(task, nowMs - graceMs)) {
        return { task: { ...task, expired: true, attempts: 0 }, effects: [{ type: "cancel" }] };
      }
      return { task: { ...task, polls: task.polls + 1 }, effects: [{ type: "poll", by: "task_id" }] };
    case "delivering":
      return { task, effects: [{ type: "deliver", heal }] };
    case "done":
      return { task, effects: task.swept ? [] : [{ type: "sweep" }] };
  }
}

function received({ task, event, policy, heal }: Given<"woken" | "redriven"> & { heal: boolean }): Step {
  const { message } = task;
  if (isTooOld({ ts: message.ts, receivedAtMs: task.receivedAtMs, nowMs: event.nowMs }))
    return conclude(task, { type: "too_old" });
  if (!policy.isAllowed(message)) return conclude(task, { type: "refused" });
  // A bare mention, or a file without a word (attachments do not travel yet): there is nothing to do.
  if (message.text === "") return conclude(task, failed({ reason: "invalid_params", lost: false }));
  if (message.text.length > maxTextLength) return conclude(task, failed({ reason: "payload_too_large", lost: false }));
  const name = task.destination ?? policy.routeOf(message);
  const destination = name === undefined ? undefined : policy.destinations.get(name);
  if (name === undefined || destination === undefined) {
    return conclude(task, failed({ reason: "agent_not_found", lost: false }));
  }
  const sessionId = sessionIdOf({ message, perTask: destination.stopAfterResult ? task.id : undefined });
  return {
    task: {
      ...task,
      destination: name,
      sessionId,
      deadlineAtMs: event.nowMs + destination.deadlineMs,
      params: {
        channel: message.channel,
        text: message.text,
        ...(message.threadTs === undefined ? {} : { thread_ts: message.threadTs }),
        team_id: message.team,
        user_id: message.user,
        correlation_id: task.id,
        session_id: sessionId,
        timeout_ms: destination.deadlineMs,
      },
    },
    effects: [{ type: "announce", heal }],
  };
}

function answered({ task, event: { result } }: Given<"answered">): Step {
  switch (result.status) {
    case "success":
      return conclude(task, { type: "answer", text: result.response_text });
    case "input_required":
      return conclude(task, { type: "answer", text: result.prompt });
    case "accepted":
      // A task that cannot be canceled any more and has no result either: its time is over all the same.
      if (task.expired) return conclude(task, failed({ reason: "timeout", lost: false }));
      return {
        task: advance(task, { state: "waiting", taskId: result.task_id }),
        effects: [wake(pollDelayMs({ polls: task.polls, pollAfterMs: result.poll_after_ms }))],
      };
  }
}

/**
 * Before the outcome is known, the failure is the outcome: it is in the record before the host is asked to cancel what may be
 * running there, and whatever that comes to, the user is told. From then on the delivery is taken up again later.
 */
function deadLettered(task: Task): Step {
  if (task.state === "done" || task.state === "delivering") {
    const again = { ...task, attempts: Math.max(1, task.attempts) };
    return { task: again, effects: task.swept ? [] : [wake(afterDeadLetterMs)] };
  }
  const mayRun = task.state === "sent" || task.state === "waiting";
  const { task: concluded } = conclude(task, failed({ reason: mayRun ? "ambiguous" : "internal", lost: false }));
  // An announcement may have been made by a worker that died of it.
  return { task: { ...concluded, attempts: 1 }, effects: mayRun ? [{ type: "cancel" }] : [wake(0)] };
}

/**
 * Of a task that has ended only the delivery is repeated: of a failure, or of an answer that is not forgotten because it was
 * not swept or never delivered. Any other task goes on as if it was woken.
 */
function redriven({ task, event, policy }: Given<"redriven">): Step {
  if (task.state !== "done") return woken({ task, event, policy });
  if (task.outcome === undefined) return { task, effects: [] };
  return { task: advance(task, { state: "delivering", swept: false }), effects: [{ type: "deliver", heal: true }] };
}
