/** Records the steps of each task's timeline, for the pages. */
import { redact } from "@sekisho/runtime/redact.ts";
import { createListeners } from "../listeners.ts";
import type { WatchedStep } from "./task-watch.ts";

/** `event` and `delivery` happen between Slack and the Verification zone. */
export type RecordedStep = Omit<WatchedStep, "kind"> & {
  kind: WatchedStep["kind"] | "event" | "delivery";
};

/** The zone in which a step happens. */
export const zoneOfStep = {
  event: "slack",
  delivery: "slack",
  claim: "verification",
  decision: "verification",
  request: "transport",
  response: "transport",
} as const satisfies Record<RecordedStep["kind"], string>;

export type StepRecorder = {
  add(step: Omit<RecordedStep, "atMs"> & { atMs?: number }): void;
  /** All steps, task by task, in order. */
  steps(): RecordedStep[];
  /** Calls back for each new step, until the returned function is called. */
  onStep(listener: (step: RecordedStep) => void): () => void;
};

type RecorderOptions = {
  secrets?: readonly string[];
  maxTasks?: number;
  maxSteps?: number;
  now?: () => number;
};

/**
 * Keeps the first `maxSteps` steps of each of the latest `maxTasks` tasks. Masks tokens and signed URLs by their form and their names,
 * and each of `secrets` wherever it occurs.
 */
export function createStepRecorder({
  secrets = [],
  maxTasks = 100,
  maxSteps = 300,
  now = Date.now,
}: RecorderOptions = {}): StepRecorder {
  const byTask = new Map<string, RecordedStep[]>();
  const news = createListeners<RecordedStep>();

  function stepsOf(requestId: string): RecordedStep[] {
    const knownSteps = byTask.get(requestId);
    if (knownSteps !== undefined) return knownSteps;
    const [oldest] = byTask.keys();
    if (oldest !== undefined && byTask.size >= maxTasks) byTask.delete(oldest);
    const steps: RecordedStep[] = [];
    byTask.set(requestId, steps);
    return steps;
  }

  return {
    add({ atMs = now(), title, detail, ...fields }) {
      const steps = stepsOf(fields.requestId);
      if (steps.length >= maxSteps) return;
      // Masking goes through JSON, so each listener gets a copy that does not change later.
      const step: RecordedStep = { ...fields, atMs, ...withoutSecrets({ title, detail }, secrets) };
      steps.push(step);
      news.notify(step);
    },
    steps: () => [...byTask.values()].flat(),
    onStep: news.add,
  };
}

type Shown = Pick<RecordedStep, "title" | "detail">;

function withoutSecrets(step: Shown, secrets: readonly string[]): Shown {
  let json = JSON.stringify(redact(step));
  for (const secret of secrets) {
    if (secret !== "") json = json.replaceAll(JSON.stringify(secret).slice(1, -1), "[redacted]");
  }
  return JSON.parse(json);
}
