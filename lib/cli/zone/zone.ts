/** The Verification zone that a command is about: the local run's file or a stage on AWS. Its options, and how it is opened. */
import { join, resolve } from "node:path";
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { type ConfigLocation, loadConfig } from "../../../lambdas/shared/config/load.ts";
import { stageOptions } from "../aws/stage.ts";
import { openLocalZone } from "./local-zone.ts";
import type { OpenZone } from "./open-zone.ts";

export const zoneOptions = { ...stageOptions, store: { type: "string" } } as const;

export const zoneHelp = `
  --stage NAME   a stage on AWS, with your own credentials; without it the local run in this folder
  --store FILE   the local run's file, instead of .sekisho/verification.db
  --config FILE  where stages and rules are looked for, instead of ./sekisho.config.json
`.slice(1, -1);

export type ZoneValues = { stage?: string | undefined; store?: string | undefined; config?: string | undefined };

/** Runs `work` at the zone that the options name, and closes it. */
export async function atZone<T>(
  run: Pick<CommandRun, "directory" | "signal">,
  values: ZoneValues,
  work: (zone: OpenZone) => Promise<T>,
): Promise<T> {
  const zone = await openZone(run, values);
  try {
    return await work(zone);
  } finally {
    await zone.close();
  }
}

/** Rejects with what to do where there is no such file, or the stage is unknown, not deployed, or of another account. */
async function openZone(
  { directory, signal }: Pick<CommandRun, "directory" | "signal">,
  { stage, store, config: configFile }: ZoneValues,
): Promise<OpenZone> {
  if (stage !== undefined && store !== undefined) throw new UsageError("--stage or --store, not both.");
  const place: ConfigLocation = { directory, file: configFile };
  if (stage === undefined) {
    return openLocalZone({ file: zoneFile({ directory, store }), config: () => loadConfig(place) });
  }
  // The clients of AWS are loaded only where there is a stage to look at.
  const { openStageZone } = await import("./stage-zone.ts");
  return openStageZone({ config: loadConfig(place), stage, signal });
}

/** The local run's file, whether or not it exists. */
export function zoneFile({ directory, store }: { directory: string; store: string | undefined }): string {
  return store === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, store);
}
