/** Where an operator's commands find the tasks: the local run's file, or a stage on AWS. */

import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { loadConfig } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { openAwsPlace } from "./aws-place.ts";
import { openLocalPlace } from "./local-place.ts";
import type { TaskPlace } from "./stored-task.ts";

export const placeOptions = {
  stage: { type: "string" },
  store: { type: "string" },
  config: { type: "string" },
} as const;

export const placeHelp = `
  --stage NAME   a stage on AWS, with your own credentials; without it the tasks of the local run in this folder
  --store FILE   the local run's file, instead of .sekisho/verification.db
  --config FILE  where stages are looked for, instead of ./sekisho.config.json
`.slice(1, -1);

export type PlaceValues = { stage?: string | undefined; store?: string | undefined; config?: string | undefined };

/** Runs `work` at the place that the words name, and closes it. */
export async function withTaskPlace<T>(
  { directory, signal }: Pick<CommandRun, "directory" | "signal">,
  { stage, store, config: file }: PlaceValues,
  work: (place: TaskPlace) => Promise<T>,
): Promise<T> {
  if (stage !== undefined && store !== undefined) throw new UsageError("--stage or --store, not both.");
  const place =
    stage === undefined
      ? {
          ...openLocalPlace({ directory, file: store, signal }),
          sampleRatio: () => ratioOf(loadConfig({ directory, file })),
        }
      : await openStage({ config: loadConfig({ directory, file }), stage, signal });
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

async function openStage(request: Parameters<typeof openAwsPlace>[0]): Promise<TaskPlace> {
  return { ...(await openAwsPlace(request)), sampleRatio: () => ratioOf(request.config) };
}

function ratioOf({ telemetry }: Config): number {
  return telemetry.traces.sampleRatio;
}
