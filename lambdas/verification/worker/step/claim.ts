/** Claims the lease of a task, and stores what its next act needs a later worker to know. */

import { ItemError } from "@sekisho/runtime/engine/records.ts";
import type { Task } from "../../task/task.ts";
import { wake } from "../../task/transition.ts";
import { decideFailure } from "./decide.ts";
import { isAct } from "./effects.ts";
import { createLease, withRevisionOf } from "./lease.ts";
import { reportUnreported } from "./report.ts";
import type { Move, Step, StepOptions } from "./step.ts";

/**
 * Stores a step before its act, with a new lease or with the one that this worker holds. If the record cannot be written, the task fails,
 * and that is stored. Resolves to undefined if another worker has changed the record.
 */
export async function claim(options: StepOptions, step: Step): Promise<Step | undefined> {
  const { now = Date.now } = options;
  const claimed = await storeMove(options, step, step).catch((thrown: unknown) => {
    const failure = {
      task: step.previousTask,
      atMs: now(),
      thrown: rethrowUnlessItemError(thrown),
    };
    return storeMove(options, step, decideFailure(options, failure));
  });
  if (claimed === undefined) return undefined;
  reportUnreported(options, claimed);
  return { ...claimed, pendingReports: [] };
}

async function storeMove(
  options: StepOptions,
  step: Step,
  decidedMove: Move,
): Promise<Step | undefined> {
  const { store, runAct, now = Date.now } = options;
  const move = runAct === undefined ? withOwedAct(decidedMove) : decidedMove;
  const lease = step.record?.lease ?? createLease(options, now());
  const claimedTask = { ...withRevisionOf(step.record, move.task), lease };
  const record = { ...claimedTask, ...owedCancelOf(move) };
  const stored = await store.replace({ item: record });
  if (stored === undefined) return undefined;
  const { revision } = stored;
  return { ...step, ...move, task: { ...claimedTask, revision }, record: { ...record, revision } };
}

/**
 * A task that has its outcome is not looked at again at the host, so the record notes its cancel until that is done. One that was noted
 * before is not noted again, so that an act that kills its worker is repeated once only.
 */
function owedCancelOf({ previousTask, task, effects }: Move): Pick<Task, "owed"> {
  const isOwed =
    task.outcome !== undefined &&
    previousTask.owed === undefined &&
    effects.some(({ type }) => type === "cancel");
  return isOwed ? { owed: "cancel" } : {};
}

/** Leaves the act of the step to the worker that handles the next wake-up. */
export function withOwedAct(move: Move): Move {
  const owedAct = move.effects.find(isAct);
  if (owedAct === undefined) return move;
  const { type } = owedAct;
  if (type !== "cancel" && type !== "leave_thread")
    throw new Error(`The act ${type} cannot be left to another worker.`);
  return { ...move, task: { ...move.task, owed: type }, effects: [wake(0)] };
}

/** Returns the ItemError of a write. Rethrows any other error, which is a failure of the store. */
export function rethrowUnlessItemError(thrown: unknown): ItemError {
  if (thrown instanceof ItemError) return thrown;
  throw thrown;
}
