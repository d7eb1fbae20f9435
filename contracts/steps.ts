/** The steps of a running task, without schemas, so that the ingress can use it without loading any. */
import type { TaskStep } from "./methods.ts";

/** Of steps with one id the last one counts. */
export function uniqueSteps(steps: readonly TaskStep[]): TaskStep[] {
  return [...new Map(steps.map((step) => [step.id, step])).values()];
}
