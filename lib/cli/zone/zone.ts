/** The options that name the Verification zone of a command, and the function that opens it. */
import { join, resolve } from "node:path";
import { loadConfig } from "@sekisho/config/load.ts";
import { type CommandRun, configOption, option, UsageError } from "../command.ts";
import { openLocalZone } from "./local-zone.ts";
import type { OpenZone } from "./open-zone.ts";

export const zoneOptions = {
  stage: option(
    "NAME",
    "uses a stage on AWS, with your AWS credentials, instead of the local run in this folder",
  ),
  store: option("FILE", "uses that file of a local run, instead of .sekisho/verification.db"),
  config: configOption,
};

/** The parts of a command's run that say where it works. */
export type ZoneRun = Pick<CommandRun, "directory" | "signal">;
export type ZoneValues = {
  stage?: string | undefined;
  store?: string | undefined;
  config?: string | undefined;
};

/** Runs `work` at the zone that the options name, and closes it. */
export async function withZone<T>(
  run: ZoneRun,
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

/** Rejects if there is no such file, or the stage is unknown, not deployed, or in another account. */
async function openZone(
  { directory, signal }: ZoneRun,
  { stage, store, config: file }: ZoneValues,
): Promise<OpenZone> {
  if (stage !== undefined && store !== undefined)
    throw new UsageError("Give --stage or --store, not both.");
  const location = { directory, file };
  if (stage === undefined) {
    return openLocalZone({
      file: zoneFile({ directory, store }),
      config: () => loadConfig(location),
    });
  }
  // The clients of AWS are loaded only for a stage.
  const { openStageZone } = await import("./stage-zone.ts");
  return openStageZone({ config: loadConfig(location), stage, signal });
}

/** The local run's file, which may not exist. */
export function zoneFile({
  directory,
  store,
}: {
  directory: string;
  store: string | undefined;
}): string {
  return store === undefined
    ? join(directory, ".sekisho", "verification.db")
    : resolve(directory, store);
}
