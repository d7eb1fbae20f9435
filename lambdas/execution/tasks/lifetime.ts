/** How long this process lives, and which tasks can be run to their end in it. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isAsking } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";

/** How long the platform lets this process live. */
export type Lifetime = {
  /** How long a task that begins now may take; infinite if nothing ends the process. */
  leftMs(): number;
  /** True if the task can be run to its end here. */
  canFinish(task: Pick<ExecutionTask, "state" | "deadlineAtMs" | "changedAtMs">): boolean;
};

/** The time between a task's deadline and the end of the process, in which its outcome is stored. */
const marginMs = 60_000;

/** A tolerance, because deadlines use the wall clock and the process's lifetime uses a monotonic one. */
const clockStepMs = 1000;

/** The least time for a task whose request names no timeout. */
export const minDefaultTimeoutMs = 15 * 60_000;

/** `processLeftMs` says how long the platform lets the process live from now on. */
export function createLifetime({
  processLeftMs,
  now,
}: {
  processLeftMs: () => number;
  now: () => number;
}): Lifetime {
  const leftMs = () => Math.max(0, processLeftMs() - marginMs);
  return {
    leftMs,
    canFinish({ state, deadlineAtMs, changedAtMs }) {
      // While a task waits for a person, its time stands still.
      const sinceMs = isAsking({ state }) ? changedAtMs : now();
      return deadlineAtMs - sinceMs <= leftMs() + clockStepMs;
    },
  };
}

/** The lifetime of a process that only its owner ends. */
export const endlessLifetime: Lifetime = {
  leftMs: () => Number.POSITIVE_INFINITY,
  canFinish: () => true,
};

/** Nothing was started or stored, so the caller may use another session. */
export function createSessionEndingError(): SekishoError {
  return new SekishoError("session_ending");
}
