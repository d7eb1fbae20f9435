/** Asks the task machine what a step does next. */

import type { TaskEvent } from "../../task/events.ts";
import { withHistory } from "../../task/history.ts";
import { next } from "../../task/machine.ts";
import type { Task } from "../../task/task.ts";
import { recordUsage } from "../../usage/entry.ts";
import { causeKindOf } from "../data-failures.ts";
import { idsOf } from "./report.ts";
import type { Move, StepOptions } from "./step.ts";

/** If the machine throws on the task's data, the task fails, because every retry would throw again. */
export function decide(
  options: StepOptions,
  { task, event, atMs }: { task: Task; event: TaskEvent; atMs: number },
): Move {
  const { policy, log } = options;
  if (event.type === "step_failed")
    log.error("step_failed", { ...idsOf(task), state: task.state, cause_kind: event.causeKind });
  try {
    const transition = next({ task, event, policy });
    const after = withHistory({ ...transition, previousTask: task, event, atMs });
    const nextTask = recordUsage({ previousTask: task, task: after, settings: policy.usage, atMs });
    return { ...transition, task: nextTask, event, previousTask: task };
  } catch (thrown) {
    if (event.type === "step_failed") throw thrown;
    return decideFailure(options, { task, atMs, thrown });
  }
}

export function decideFailure(
  options: StepOptions,
  { task, atMs, thrown }: { task: Task; atMs: number; thrown: unknown },
): Move {
  const event: TaskEvent = { type: "step_failed", nowMs: atMs, causeKind: causeKindOf(thrown) };
  return decide(options, { task, event, atMs });
}
