/** What the Execution zone's record tells of a task's way. */
import { isTerminal } from "../../../contracts/methods.ts";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { createDetail, type PictureStep, type SourceStep } from "./picture-step.ts";

type State = ExecutionTask["state"];

export function listExecutionSteps({ task, nowMs }: { task: ExecutionTask; nowMs: number }): SourceStep[] {
  const { createdAtMs, changedAtMs, state, a2a, outcome } = task;
  const passed = a2a?.passed ?? [];
  const entered = [...passed, { state, atMs: changedAtMs }].filter((each) => each.state !== "submitted");
  const ending =
    outcome?.type === "failure" ? createDetail({ reason: outcome.reason, lost: outcome.lost && "yes" }) : {};
  return [
    { step: execution({ atMs: createdAtMs, title: formatStateTitle("submitted") }) },
    ...entered.map((each) => stepOfState({ ...each, detail: each.state === state ? ending : {} })),
    ...leaseSteps({ task, nowMs }),
  ];
}

/** Log lines tell of the same changes. */
export function stateKey(state: string): string {
  return `state ${state}`;
}

export function formatStateTitle(state: string): string {
  return Object.hasOwn(words, state) ? `${words[state as State]} → ${state}` : `task → ${state}`;
}

const words: Record<State, string> = {
  submitted: "task is stored",
  working: "agent works",
  input_required: "agent asks",
  completed: "agent is done",
  failed: "task failed",
  canceled: "task is canceled",
  rejected: "agent will not do it",
};

function stepOfState({
  state,
  atMs,
  detail,
}: {
  state: State;
  atMs: number;
  detail: PictureStep["detail"];
}): SourceStep {
  const isFailed = state === "failed" || state === "rejected";
  const step = execution({
    atMs,
    title: formatStateTitle(state),
    detail,
    zone: "agent",
    ...(isFailed && { failed: true }),
  });
  return { key: stateKey(state), step };
}

/** Who runs the agent renews it; one that has lapsed says that nobody does any more. */
function leaseSteps({ task: { state, lease }, nowMs }: { task: ExecutionTask; nowMs: number }): SourceStep[] {
  if (lease === undefined || isTerminal(state) || lease.untilMs > nowMs) return [];
  const title = "the lease of whoever runs the agent lapsed";
  return [{ step: execution({ atMs: lease.untilMs, title, failed: true }) }];
}

function execution(step: Pick<PictureStep, "atMs" | "title"> & Partial<PictureStep>): PictureStep {
  return { zone: "execution", detail: {}, ...step };
}
