/** How the commands speak of a task: ages, what it does next, what it came to. Pure; never a text of a user or an agent. */
import type { Task } from "../../../lambdas/verification/task/task.ts";

const units = [
  { name: "d", ms: 24 * 3600_000 },
  { name: "h", ms: 3600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** In the largest unit of which there is one: `850 ms`, `12 s`, `3 min`, `5 h`, `4 d`. */
export function formatDuration(ms: number): string {
  const unit = units.find((candidate) => Math.abs(ms) >= candidate.ms);
  return unit === undefined ? `${Math.trunc(ms)} ms` : `${Math.trunc(ms / unit.ms)} ${unit.name}`;
}

export function formatTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

export function describeNextStep({ task, nowMs }: { task: Task; nowMs: number }): string {
  if (task.state === "done") return describeOutcome(task) ?? "over";
  if (task.lease !== undefined && task.lease.untilMs > nowMs) return `a worker is at it: ${stepText(task)}`;
  if (task.lease !== undefined) return `taken over from a worker that died: ${stepText(task)}`;
  return task.attempts > 0 ? `once more: ${stepText(task)}` : stepText(task);
}

function stepText(task: Task): string {
  switch (task.state) {
    case "received":
      return "placeholder in the thread";
    case "queued":
      return `its turn in the thread${task.queuePosition === undefined ? "" : `, ${task.queuePosition} before it`}`;
    case "announced":
      return "send to its destination";
    case "sent":
      return task.call?.arrival === "in_doubt" ? "ask whether it arrived" : "answer to its first call";
    case "waiting":
      return task.cancelReason === undefined ? "poll" : "cancel at its destination";
    case "asking":
      return questionText(task);
    case "delivering":
      return "answer into the thread";
    case "done":
      return "nothing";
  }
}

function questionText({ question, cancelReason }: Task): string {
  if (cancelReason !== undefined) return "cancel at its destination";
  return question?.answer === undefined ? "somebody's answer to the agent's question" : "the answer to its destination";
}

/** Undefined where nothing is known yet. */
export function describeOutcome({ state, outcome }: Pick<Task, "state" | "outcome">): string | undefined {
  switch (outcome?.type) {
    case undefined:
      // The text of an answer goes once it is known to be in the thread, and the outcome with it.
      return state === "done" ? "answered" : undefined;
    case "answer":
      return "answered";
    case "failed":
      if (outcome.reason === "canceled") return "canceled";
      return `failed: ${outcome.reason}${outcome.lost ? ", lost by the Execution zone" : ""}`;
    case "refused":
      return "refused: not on the allowlist";
    case "too_old":
      return "not executed: too old";
    case "unreadable":
      return "not tried again: the message cannot be read";
    case "limited":
      return `refused: over the limit of that ${outcome.by}`;
    case "file_refused":
      return `not executed: a file is ${fileWords[outcome.why]}`;
    case "unanswered":
      return "canceled: nobody answered the agent's question";
    case "not_yours":
      return "refused: the thread waits for somebody else's answer";
    case "canceling":
      return `the word to cancel, for ${outcome.count} tasks`;
  }
}

const fileWords = { too_large: "too large", too_many: "one too many", not_to_be_had: "not to be had" };
