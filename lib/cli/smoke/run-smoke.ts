/** The smoke test of a stage: runs its tasks, waits for what CloudWatch has of them, and checks everything. */

import { setTimeout as wait } from "node:timers/promises";
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import { isOwnExecution } from "../../../lambdas/shared/config/destination-address.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { checkAssumptions } from "./assumptions.ts";
import { checkFacts, type SmokeFacts } from "./checks.ts";
import { collectFacts, type FactsRequest } from "./collect-facts.ts";
import type { SmokeReport } from "./report.ts";
import {
  runStory,
  type StoryDependencies,
  type StoryResult,
  type StorySettings,
  storyGroups,
} from "./run-story.ts";

export type SmokeSettings = StorySettings & {
  /** The time that CloudWatch gets to show everything. */
  settleMs: number;
  /** The longest wait for the record of a task to cancel. The worker writes it seconds after the entry took the task. */
  recordPatienceMs: number;
};

export const defaultSettings: SmokeSettings = {
  wakes: 20,
  wakeTaskMs: 13 * 60_000,
  longTaskMs: 20 * 60_000,
  patienceMs: 120_000,
  pollMs: 1000,
  settleMs: 6 * 60_000,
  recordPatienceMs: 10_000,
};

export type SmokeRequest = FactsRequest &
  Omit<StoryDependencies, "zone" | "settings" | "onBegun"> & {
    zone: TaskZone;
    settings: SmokeSettings;
  };

/** Rejects where it is interrupted, and cancels the tasks that it began. */
export async function runSmoke(request: SmokeRequest): Promise<SmokeReport> {
  const { note, stageName } = request;
  const settings = { ...request.settings, longTaskMs: limitLongTask(request) };
  const fromMs = Date.now() - 60_000;
  const begun: BegunTask[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  const dependencies = {
    ...request,
    settings,
    signal,
    onBegun: (each: BegunTask) => void begun.push(each),
  };
  const stories: StoryResult[] = [];
  for (const group of storyGroups) {
    const running = group.map((story) => runStory(story, dependencies));
    const results = await Promise.all(running).catch(async (thrown) => {
      stop.abort();
      await Promise.allSettled(running);
      await cancelBegun(request, begun);
      throw thrown;
    });
    stories.push(...results);
    for (const { story, ok, what } of results) note(`${story}: ${ok ? "" : "failed: "}${what}`);
    // An unfinished task would keep its agent from the next group.
    if (results.some(({ ok }) => !ok)) await cancelBegun(request, begun);
  }
  note(`Waiting for CloudWatch, ${Math.ceil(settings.settleMs / 60_000)} minutes at most.`);
  const report = createSmokeReport(await collectFacts(request, stories, fromMs));
  note(
    report.ok ? `Stage ${stageName} is as it should be.` : `Stage ${stageName}: see the report.`,
  );
  return report;
}

/** A Lambda function keeps no session that could idle out. */
const maxLambdaLongTaskMs = 2 * 60_000;

/** Returns how long the long task takes: as the settings say, but not so long that the stage would end it. */
export function limitLongTask({
  settings: { longTaskMs },
  stage,
  config,
}: Pick<SmokeRequest, "stage" | "config"> & {
  settings: Pick<SmokeSettings, "longTaskMs">;
}): number {
  const deadlines = Object.values(config.destinations)
    .filter(isOwnExecution)
    .map(({ deadlineMs }) => deadlineMs);
  const maxMs = stage.execution.kind === "lambda" ? maxLambdaLongTaskMs : Number.POSITIVE_INFINITY;
  return Math.min(longTaskMs, maxMs, ...deadlines.map((deadlineMs) => deadlineMs / 2));
}

/** `ok` where every check passed, and nothing that was observed differs from an assumption. */
export function createSmokeReport(facts: SmokeFacts): SmokeReport {
  const checks = checkFacts(facts);
  const assumptions = checkAssumptions(facts);
  const ok =
    checks.every((check) => check.ok) && assumptions.every(({ differs }) => differs !== true);
  return { ok, checks, assumptions };
}

type BegunTask = Parameters<StoryDependencies["onBegun"]>[0];

/** Leaves out an ambiguous task that has no record after `recordPatienceMs`, because the entry did not take it. */
async function cancelBegun(
  { zone, settings, note }: SmokeRequest,
  begun: readonly BegunTask[],
): Promise<void> {
  const endMs = performance.now() + settings.recordPatienceMs;
  await Promise.all(
    begun.map(async ({ requestId: id, isAmbiguous }) => {
      try {
        let task = (await zone.store.get({ id }))?.task;
        while (task === undefined && performance.now() < endMs) {
          await wait(settings.pollMs);
          task = (await zone.store.get({ id }))?.task;
        }
        if (task?.state === "done" || (task === undefined && isAmbiguous)) return;
        if (task === undefined) throw new Error("It has not begun.");
        await sendCancel({ zone, task });
        note(`Canceled ${id}.`);
      } catch {
        note(`Could not cancel ${id}: ${sekisho} tasks cancel ${id}`);
      }
    }),
  );
}
