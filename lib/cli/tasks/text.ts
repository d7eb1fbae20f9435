/** Texts about a task: ages, the next step, the outcome. Never a text of a user or an agent. */
import type { Task } from "@sekisho/verification/task/task.ts";

export function formatTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

export function describeNextStep({ task, nowMs }: { task: Task; nowMs: number }): string {
  const { state, lease, attempts } = task;
  if (state === "done") return describeOutcome(task) ?? "done";
  const step = stepTexts[state](task);
  if (lease !== undefined && lease.untilMs > nowMs) return `in progress: ${step}`;
  if (lease !== undefined) return `after a worker died: ${step}`;
  return attempts > 0 ? `retry: ${step}` : step;
}

const cancelText = "cancel it at the destination";

const stepTexts: Record<Exclude<Task["state"], "done">, (task: Task) => string> = {
  received: () => "post the placeholder",
  queued: ({ queuePosition: position }) =>
    `wait for its turn in the thread${position === undefined ? "" : `, ${position} before it`}`,
  announced: () => "send it to the destination",
  sent: ({ call }) =>
    call?.arrival === "in_doubt"
      ? "check whether it arrived"
      : "wait for the response to the first call",
  waiting: ({ cancelReason }) => (cancelReason === undefined ? "poll" : cancelText),
  asking: ({ cancelReason, question }) =>
    cancelReason === undefined ? questionText(question) : cancelText,
  delivering: () => "post the answer",
};

function questionText(question: Task["question"]): string {
  if (question?.answer === undefined) return "wait for a person to answer the agent's question";
  const { arrival, stillAskedTimes = 0 } = question.answer;
  const asks =
    stillAskedTimes === 0 ? "" : `, polls that found the agent still asking: ${stillAskedTimes}`;
  if (arrival?.type === "arrived")
    return `wait for the agent, which has the person's answer${asks}`;
  return `send the person's answer to the destination${arrival === undefined ? "" : ", which may have arrived"}${asks}`;
}

type Outcome = NonNullable<Task["outcome"]>;

/** Undefined while there is no outcome. */
export function describeOutcome({
  state,
  outcome,
}: Pick<Task, "state" | "outcome">): string | undefined {
  // The outcome of an answer is erased with its text once the answer is in the thread.
  if (outcome === undefined) return state === "done" ? "answered" : undefined;
  const describe = outcomeTexts[outcome.type] as (outcome: Outcome) => string;
  return describe(outcome);
}

const outcomeTexts: {
  [Type in Outcome["type"]]: (outcome: Extract<Outcome, { type: Type }>) => string;
} = {
  answer: () => "answered",
  failed: ({ reason, lost }) =>
    reason === "canceled"
      ? "canceled"
      : `failed: ${reason}${lost ? ", lost by the Execution zone" : ""}`,
  refused: () => "refused: not on the allowlist",
  too_old: () => "not executed: too old",
  unreadable: () => "not retried: the message cannot be read",
  limited: ({ by }) => `refused: over the quota of the ${by}`,
  file_refused: ({ why, detail }) => `not executed: ${fileTexts[detail ?? why]}`,
  unanswered: () => "canceled: nobody answered the agent's question",
  not_yours: () => "refused: the thread waits for someone else's reply",
  help: () => "request for help",
  canceling: ({ count }) => `request to cancel ${count} ${count === 1 ? "task" : "tasks"}`,
};

const fileTexts = {
  too_large: "a file is too large",
  too_many: "there are too many files",
  not_to_be_had: "a file cannot be downloaded",
  hidden: "Slack does not show a file to the app",
  canvas: "a canvas cannot be read",
  list: "a list cannot be read",
};
