/** Steps and subagents of a run as the steps that a person sees. */
import { maxSteps } from "@sekisho/contracts/limits.ts";
import type { TaskStep } from "@sekisho/contracts/methods.ts";
import type { AgUiEvent } from "./events.ts";

const maxTitleLength = 200;

/** A step of a subagent is left out: the subagent itself is one. */
export function createPlan() {
  /** The latest ones. `key` tells which event ends the step. */
  const steps: (TaskStep & { key: string })[] = [];
  let stepCount = 0;

  function start(key: string, name: string) {
    stepCount += 1;
    const title = name.trim().slice(0, maxTitleLength) || "…";
    steps.push({ key, id: String(stepCount), title, status: "in_progress" });
    if (steps.length > maxSteps) steps.shift();
    return report();
  }

  function end(key: string, status: TaskStep["status"]) {
    const step = steps.findLast((each) => each.key === key && each.status === "in_progress");
    if (step === undefined) return {};
    step.status = status;
    return report();
  }

  function report(): { steps: TaskStep[] } {
    return { steps: steps.map(({ key: _key, ...step }) => step) };
  }

  return {
    /** Returns undefined for an event that is about no step. */
    add(event: AgUiEvent): { steps?: TaskStep[] } | undefined {
      switch (event.type) {
        case "SUBAGENT_STARTED":
          return start(`subagent ${event.subagentRunId}`, event.name);
        case "SUBAGENT_FINISHED":
          return end(`subagent ${event.subagentRunId}`, "completed");
        case "SUBAGENT_ERROR":
          return end(`subagent ${event.subagentRunId}`, "failed");
        case "STEP_STARTED":
          if (event.subagentRunId !== undefined) return {};
          return start(`step ${event.stepName}`, event.stepName);
        case "STEP_FINISHED":
          return event.subagentRunId === undefined
            ? end(`step ${event.stepName}`, "completed")
            : {};
        default:
          return undefined;
      }
    },
  };
}
