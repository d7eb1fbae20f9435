/** The timeline of one task through both zones, from their records. */
import { isTerminal } from "@sekisho/contracts/methods.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { describeEventName, formatStepTitle } from "./event-text.ts";

export type TimelineStep = {
  atMs: number;
  zone: "slack" | "verification" | "transport" | "execution" | "agent";
  title: string;
  /** Ids, kinds and sizes; never texts. */
  detail: Record<string, string | number>;
  failed?: true;
};

type Records = {
  task: Pick<Task, "history" | "wait" | "question" | "progress">;
  execution: ExecutionTask | undefined;
  nowMs: number;
};

/** In order of time. */
export function createTimeline({ task, execution, nowMs }: Records): TimelineStep[] {
  const steps = [
    ...listTaskSteps(task),
    ...(execution === undefined ? [] : listExecutionSteps({ task: execution, nowMs })),
  ];
  return steps.sort((a, b) => a.atMs - b.atMs);
}

type Values = Record<string, string | number | undefined>;

function createStep(
  atMs: number,
  zone: TimelineStep["zone"],
  title: string,
  values: Values = {},
): TimelineStep {
  const detail = Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  );
  return { atMs, zone, title, detail };
}

function listTaskSteps({ history, wait, question, progress }: Records["task"]): TimelineStep[] {
  const steps = history.map(({ atMs, event, state }) => {
    const text = describeEventName(event);
    if (event === "asked") return createStep(atMs, "slack", text);
    return createStep(atMs, "verification", formatStepTitle({ text, state }));
  });
  const { polls = 0, polledAtMs } = wait ?? {};
  if (polledAtMs !== undefined && polls > 0)
    steps.push(createStep(polledAtMs, "transport", "latest poll", { polls }));
  if (question !== undefined) {
    const { index, askedAtMs, options, answer } = question;
    const number = { question: index + 1 };
    steps.push(
      createStep(askedAtMs, "verification", "agent asked a question", {
        ...number,
        options: options.length,
      }),
    );
    if (answer !== undefined) {
      const { user, option, atMs, arrival, stillAskedTimes } = answer;
      const title =
        arrival?.type === "arrived" ? "reply given, and the agent has it" : "reply given";
      const choice = {
        user,
        option: option === undefined ? undefined : option + 1,
        still_asked: stillAskedTimes,
      };
      steps.push(createStep(atMs, "slack", title, { ...number, ...choice }));
    }
  }
  if (progress !== undefined) {
    const { shownAtMs, percent, partialText } = progress;
    const shownProgress = { percent, partial_characters: partialText?.length };
    steps.push(createStep(shownAtMs, "slack", "latest progress shown", shownProgress));
  }
  return steps;
}

const stateTexts: Record<ExecutionTask["state"], string> = {
  submitted: "task stored",
  working: "agent started",
  input_required: "agent asked a question",
  completed: "agent finished",
  failed: "task failed",
  canceled: "task canceled",
  rejected: "rejected by the agent",
};

function listExecutionSteps({
  task,
  nowMs,
}: {
  task: ExecutionTask;
  nowMs: number;
}): TimelineStep[] {
  const { createdAtMs, changedAtMs, state: latest, a2a, outcome, lease } = task;
  const failure =
    outcome?.type === "failure" ? { reason: outcome.reason, lost: outcome.lost && "yes" } : {};
  const entries = [...(a2a?.passed ?? []), { state: latest, atMs: changedAtMs }];
  const steps = entries
    .filter(({ state }) => state !== "submitted")
    .map(({ state, atMs }): TimelineStep => {
      const title = formatStepTitle({ text: stateTexts[state], state });
      const isFailed = state === "failed" || state === "rejected";
      return {
        ...createStep(atMs, "agent", title, state === latest ? failure : {}),
        ...(isFailed && { failed: true }),
      };
    });
  const storedTitle = formatStepTitle({ text: stateTexts.submitted, state: "submitted" });
  steps.unshift(createStep(createdAtMs, "execution", storedTitle));
  // A run renews its lease. One that has expired means that nobody runs the agent any more.
  if (lease !== undefined && !isTerminal(latest) && lease.untilMs <= nowMs) {
    steps.push({
      ...createStep(lease.untilMs, "execution", "lease of the agent's run expired"),
      failed: true,
    });
  }
  return steps;
}
